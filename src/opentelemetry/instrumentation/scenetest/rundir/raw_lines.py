"""The lines of a journal as they are in its file: the usual ones by pattern, the others as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO, cast

from opentelemetry.instrumentation.scenetest.rundir.validate import well_formed

_SPAN_ID, _TRACE_ID = "0" * 16, "0" * 32
_LONGEST_LINE = 1 << 24

# The two lines of nearly every journal, as the recorder writes them. Anything else is read as JSON.
DISPATCH = re.compile(
    rb'\{"kind":"open","span":"dispatch","trace":"([0-9a-f]{32})","parent":"([0-9a-f]{16})","id":"([0-9a-f]{16})",'
    rb'"at":(0|[1-9]\d{0,17}),"round":(0|[1-9]\d{0,17})\}\n'
).fullmatch
PASS = re.compile(
    rb'\{"kind":"close","id":"([0-9a-f]{16})","start":(0|[1-9]\d{0,17}),"end":(0|[1-9]\d{0,17}),"outcome":"pass"\}\n'
).fullmatch


def raw_lines(file: BinaryIO) -> Iterator[bytes]:
    """Return the lines of a file, one longer than any journal's in parts: a file of others may hold but one."""
    return iter(partial(file.readline, _LONGEST_LINE), b"")


_decode = json.JSONDecoder().decode


def parse(raw: bytes) -> dict[str, Any] | None:
    """Return a whole, well-formed line, None for anything else."""
    if not raw.endswith(b"\n"):
        return None
    try:
        line: object = _decode(raw.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict):
        return None
    fields = well_formed(cast("dict[str, Any]", line))
    needed = _NEEDED.get(fields.get("kind", ""))
    if needed is None or not needed <= fields.keys() or len(fields.get("id", _SPAN_ID)) != len(_SPAN_ID):
        return None
    return fields if len(fields.get("trace", _TRACE_ID)) == len(_TRACE_ID) and _is_forth(fields) else None


def _is_forth(fields: dict[str, Any]) -> bool:
    return not ("start" in fields and "end" in fields) or fields["start"] <= fields["end"]


_NEEDED = {
    "process": {"pid", "anchor"},
    "conditions": {"conditions"},
    "open": {"span", "id", "trace", "at"},
    "close": {"id", "start", "end", "outcome"},
    "service": set[str](),
    "thread": {"id", "at"},
    "end": set[str](),
}
