"""Values that a caller passes become plain scalars or text in bounded time, in journals and in live spans."""

from __future__ import annotations

from enum import Enum, IntEnum
from pathlib import Path

from support.live import run_live
from support.scripts import only_process, record

from opentelemetry.instrumentation.scenetest import semantics
from opentelemetry.instrumentation.scenetest.rundir import lines


class Level(IntEnum):
    TWO = 2


class Words(str, Enum):
    ON = "on"


class Half(float):
    def __repr__(self) -> str:
        return "half"


ENUMS = """
import signal
from enum import IntEnum
signal.alarm(20)
class Level(IntEnum):
    TWO = 2
"""


def test_an_int_enum_is_recorded_as_its_number_on_a_provider_of_the_program(tmp_path: Path) -> None:
    exported, _ = run_live(
        ENUMS
        + """
instrument(tracer_provider=make_provider())
with case("S", "c", level=Level.TWO):
    with dispatch(batch=Level.TWO): pass
""",
        tmp_path,
    )
    assert [(span["attributes"]["scenetest.level"], span["name"]) for span in exported] == [
        (2, "dispatch S::c"),
        (2, "S::c"),
    ]
    assert exported[0]["attributes"]["scenetest.batch"] == 2


def test_an_int_enum_is_recorded_as_its_number_in_the_journal(tmp_path: Path) -> None:
    source = ENUMS + "instrument()\nwith case('S', 'c', level=Level.TWO):\n    with dispatch(batch=Level.TWO): pass"
    (recorded,) = only_process(record(source, tmp_path)).cases
    assert recorded.span.attributes["scenetest.level"] == 2
    assert [one.attributes for one in recorded.dispatches] == [{"scenetest.batch": 2}]


def test_values_of_subclasses_become_the_plain_value_that_they_hold() -> None:
    given = {"level": Level.TWO, "word": Words.ON, "half": Half(0.5), "flag": True}
    found = lines.attributes(given)
    assert found == {"scenetest.level": 2, "scenetest.word": "on", "scenetest.half": 0.5, "scenetest.flag": True}
    assert [type(value) for value in found.values()] == [int, str, float, bool]


def test_integers_outside_64_bits_become_text_at_once() -> None:
    assert lines.attributes({"low": -(2**63), "high": 2**63 - 1, "over": 2**63}) == {
        "scenetest.low": -(2**63),
        "scenetest.high": 2**63 - 1,
        "scenetest.over": "9223372036854775808",
    }
    assert semantics.clean({"level": Level.TWO, "over": -(2**63) - 1}) == {"level": 2, "over": "-9223372036854775809"}
