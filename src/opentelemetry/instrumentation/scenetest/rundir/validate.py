"""What a field of `run.json` or of a journal line may hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast


def well_formed(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields without those in which something else stands than was ever written there."""
    damaged = [name for name, value in fields.items() if (check := _CHECKS.get(name)) and not check(value)]
    return {name: value for name, value in fields.items() if name not in damaged} if damaged else fields


def _is_id(value: object) -> bool:
    return isinstance(value, str) and _ID(value) is not None


def _is_time(value: object) -> bool:
    return isinstance(value, int) and abs(value) < 1 << 63


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flags(value: object) -> bool:
    return isinstance(value, int) and 0 <= value <= 255


def _is_attributes(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(each, _SCALAR) for each in cast("dict[str, object]", value).values()
    )


def _is_anchor(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_time, map(cast("dict[str, Any]", value).get, _CLOCKS)))


_ID = re.compile("[0-9a-f]{16}(?:[0-9a-f]{16})?").fullmatch
_SCALAR = (str, int, float)
_CLOCKS = ("monotonic_ns", "unix_ns")
_CHECKS: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(("id", "trace", "parent"), _is_id),
    **dict.fromkeys(("at", "since", "start", "end", "pid", "started_unix_ns", "ended_unix_ns"), _is_time),
    **dict.fromkeys(("kind", "span", "outcome", "error", "by"), _is_text),
    **dict.fromkeys(("attributes", "conditions", "dirty", "sdk_resource"), _is_attributes),
    **dict.fromkeys(("tracestate", "traceparent"), _is_text),
    "flags": _is_flags,
    "anchor": _is_anchor,
    "schema": lambda value: isinstance(value, int),
}
"""What a reader relies on, by the name of the field."""
