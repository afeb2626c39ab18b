"""The lines of a journal, and what an attribute may be."""

from __future__ import annotations

import math
from enum import IntEnum

import pytest

from opentelemetry.instrumentation.scenetest.rundir import lines


class Level(IntEnum):
    TWO = 2


class Name(str):
    __slots__ = ()


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_a_line_is_compact_ascii_json_with_a_newline() -> None:
    assert lines.line("end", at=5) == b'{"kind":"end","at":5}\n'
    assert lines.line("open", name="\u00e9", round=0) == b'{"kind":"open","name":"\\u00e9","round":0}\n'


def test_a_line_leaves_out_what_is_none_or_empty() -> None:
    assert (
        lines.line("open", parent=None, attributes={}, name="", live=False)
        == b'{"kind":"open","name":"","live":false}\n'
    )


@pytest.mark.parametrize(
    ("value", "attribute"),
    [
        (True, True),
        (0, 0),
        (Level.TWO, 2),
        (Name("a"), "a"),
        ((1 << 63) - 1, (1 << 63) - 1),
        (1 << 63, str(1 << 63)),
        (-(1 << 63) - 1, str(-(1 << 63) - 1)),
        (0.5, 0.5),
        (math.inf, "inf"),
        (math.nan, "nan"),
        ([1, 2], "[1, 2]"),
        (Broken(), "unknown"),
    ],
)
def test_an_attribute_is_a_plain_scalar_or_text(value: object, attribute: object) -> None:
    found = lines.attributes({"name": value})
    assert found == {"scenetest.name": attribute}
    assert type(found["scenetest.name"]) is type(attribute)


def test_attributes_leave_out_none_and_keep_the_names_of_semantic_conventions() -> None:
    assert lines.attributes({"level": None, "code.file.path": "a.py"}) == {"code.file.path": "a.py"}
