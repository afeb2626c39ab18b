"""The one log line of a measured process: its formatter and its parser.

    torch_backend_autoload setting={unset|0|1|other} raw=<JSON string or null> raw_truncated=<bool>
        effective=<enabled|disabled|unsupported|unknown> torch_imported=<bool> torch_npu_loaded=<bool>

all on one line. The grammar is the one of the harness (`log_torch_backend_autoload_once`), so that the logs of both
compare line by line; its word for any other value is `invalid`, and its first form had no `raw` and `raw_truncated`.
`raw` is null for an unset variable, and under `setting=other` for one that nobody observed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

SETTING_LIMIT = 64
UNSET = "unset"
UNKNOWN = "unknown"

_BOOL = {"false": False, "true": True}
_LINE = re.compile(
    r"\btorch_backend_autoload setting=(?P<setting>unset|0|1|other|invalid)"
    r'(?: raw=(?P<raw>null|"(?:[^"\\]|\\.)*") raw_truncated=(?P<raw_truncated>true|false))?'
    r" effective=(?P<effective>enabled|disabled|unsupported|unknown)"
    r" torch_imported=(?P<torch_imported>true|false)"
    r" torch_npu_loaded=(?P<torch_npu_loaded>true|false)(?=\s|$)"
)


def spell(value: str | None) -> str:
    """Return a value of the variable as the attribute `torch.backend_autoload.setting` holds it.

    Args:
        value: what torch saw; None when the variable was unset.

    Returns:
        `unset`, or the first 64 characters: as they are, or as a JSON string where they are not printable ASCII or
        would be taken for one of our words.
    """
    if value is None:
        return UNSET
    text = value[:SETTING_LIMIT]
    plain = text.isascii() and text.isprintable() and text not in (UNSET, UNKNOWN) and _unquoted(text) is None
    return text if plain else json.dumps(text)


def log_line(conditions: Mapping[str, object]) -> str:
    """Return the line for the conditions of a process, in ASCII.

    Args:
        conditions: by attribute, as the recorder holds them; what is missing reads as unknown or false.
    """
    spelled = str(conditions.get("torch.backend_autoload.setting", UNKNOWN))
    raw = None if spelled in (UNSET, UNKNOWN) else _unquoted(spelled) or spelled
    setting = spelled if spelled == UNSET or raw in ("0", "1") else "other"
    effective = conditions.get("torch.backend_autoload.effective", UNKNOWN)
    flags = ("torch.backend_autoload.setting_truncated", "torch.imported", "torch_npu.loaded")
    truncated, imported, loaded = (json.dumps(conditions.get(name) is True) for name in flags)
    return (
        f"torch_backend_autoload setting={setting} raw={json.dumps(raw)} raw_truncated={truncated}"
        f" effective={effective} torch_imported={imported} torch_npu_loaded={loaded}"
    )


def parse_log_line(text: str) -> dict[str, str | bool | None] | None:
    """Return the fields of the line, wherever in the text it stands; None if it is not there.

    The keys are those of the line. The old form gives none for `raw` and `raw_truncated`.
    """
    found = _LINE.search(text)
    if found is None:
        return None
    words = {name: word for name, word in found.groupdict().items() if word is not None}
    try:
        return {name: _json(word) if name == "raw" else _BOOL.get(word, word) for name, word in words.items()}
    except ValueError:
        return None


def _json(text: str) -> str | None:
    value: object = json.loads(text)
    return value if isinstance(value, str) else None


def _unquoted(text: str) -> str | None:
    """Return the value that `spell` wrote as this JSON string; None if it would not have."""
    try:
        value = _json(text) if text.startswith('"') else None
    except ValueError:
        return None
    return value if value is not None and spell(value) == text else None
