"""What a field of `run.json` or of a journal line may hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from opentelemetry.instrumentation.scenetest import masking


def well_formed(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields without those in which something else stands than was ever written there."""
    damaged = [name for name, value in fields.items() if (check := _CHECKS.get(name)) and not check(value)]
    return {name: value for name, value in fields.items() if name not in damaged} if damaged else fields


def masked(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with the secrets of the command line masked: another version may have recorded them."""
    return {**fields, "command": masking.masked(fields["command"])} if "command" in fields else fields


def _is_id(value: object) -> bool:
    return isinstance(value, str) and _ID(value) is not None


def _is_time(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62


def _is_wall_time(value: object) -> bool:
    return _is_time(value) and cast("int", value) >= 0


def _is_optional_number(value: object) -> bool:
    return value is None or _is_time(value)


def _is_optional_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_command(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in cast("list[object]", value))


def _is_kind(value: object) -> bool:
    return value in ("case", "phase", "dispatch", "process")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flags(value: object) -> bool:
    return isinstance(value, int) and 0 <= value <= 255


def _is_attributes(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_scalar, cast("dict[str, object]", value).values()))


def _is_scalar(value: object) -> bool:
    return isinstance(value, _SCALAR)


def _is_anchor(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_wall_time, map(cast("dict[str, Any]", value).get, _CLOCKS)))


# All zeroes are no id (W3C Trace Context); a backend may refuse the whole batch.
_ID = re.compile("(?!0+$)[0-9a-f]{16}(?:[0-9a-f]{16})?").fullmatch
_SCALAR = (str, int, float)
_CLOCKS = ("monotonic_ns", "unix_ns")
_CHECKS: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(("id", "trace", "parent"), _is_id),
    **dict.fromkeys(("at", "since", "start", "end", "pid"), _is_time),
    **dict.fromkeys(("started_unix_ns", "ended_unix_ns"), _is_wall_time),
    **dict.fromkeys(("round", "exit_code", "signal", "start_ticks", "parent_pid"), _is_optional_number),
    **dict.fromkeys(("kind", "outcome", "by", "name", "suite", "host", "boot_id", "executable", "python"), _is_text),
    **dict.fromkeys(("error", "service_name", "resource_attributes"), _is_optional_text),
    "span": _is_kind,
    "command": _is_command,
    **dict.fromkeys(("live", "sampled", "tty"), lambda value: isinstance(value, bool)),
    **dict.fromkeys(("arm", "attributes", "conditions", "dirty", "sdk_resource", "of_thread"), _is_attributes),
    **dict.fromkeys(("tracestate", "traceparent"), _is_text),
    "flags": _is_flags,
    "anchor": _is_anchor,
    "schema": _is_time,
}
"""What a reader relies on, by the name of the field."""
