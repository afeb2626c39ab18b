"""The lines that the recorder writes, and what an attribute may be."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import cast

from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.conditions.values import UNKNOWN

_INT64_LIMIT = 1 << 63


def line(kind: str, **fields: object) -> bytes:
    """Return one line of the journal; fields that are None or empty are left out."""
    present = {key: value for key, value in fields.items() if value is not None and value != {}}
    text = json.dumps({"kind": kind, **present}, ensure_ascii=True, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def attributes(given: Mapping[str, object]) -> dict[str, str | bool | int | float]:
    """Turn keyword arguments into `scenetest.*` attributes: None left out, scalars as they are, all else as text.

    What can't be written as text is unknown. A number that JSON has no word for becomes text: one NaN makes Jaeger fail
    every search that hits it. `code.*` of the semantic conventions, which no keyword argument of a user can be, stays
    as it is.
    """
    return {
        key if key.startswith("code.") else f"scenetest.{key}": _scalar(value)
        for key, value in given.items()
        if value is not None
    }


def added_value(value: object) -> str | bool | int | float | list[str | bool | int | float]:
    """Return the value of an attribute that the program set by OpenTelemetry's API: a list stays a list."""
    if isinstance(value, (list, tuple)):
        return [_scalar(each) for each in cast("Sequence[object]", value)]
    return _scalar(value)


def text(value: object) -> str:
    """Return a value as text; unknown where its own code fails at that, which must not cost the span."""
    try:
        return str(value)
    except Exception as error:
        faults.swallow("write a value as text", error)
        return UNKNOWN


def _scalar(value: object) -> str | bool | int | float:
    # A value of a subclass, such as an IntEnum, becomes the plain number or text that it holds.
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        number = int.__index__(value)
        # Python refuses to write out an integer of thousands of digits.
        return number if -_INT64_LIMIT <= number < _INT64_LIMIT else text(number)
    if isinstance(value, float):
        number = float.__float__(value)
        return number if math.isfinite(number) else text(number)
    return str.__str__(value) if isinstance(value, str) else text(value)
