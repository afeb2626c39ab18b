"""Names, attributes and status of a span."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from opentelemetry.trace import StatusCode

from opentelemetry.instrumentation.scenetest import semantics

if TYPE_CHECKING:
    from opentelemetry.instrumentation.scenetest.conditions.values import Value


@dataclass
class Described:
    kind: str
    name: str = ""
    suite: str = ""
    round: int | None = None
    attributes: dict[str, Value] = field(default_factory=dict[str, "Value"])
    case: Described | None = None


CASE = Described("case", "default", "TestVector", attributes={"scenetest.level": 2})


@pytest.mark.parametrize(
    ("span", "name"),
    [
        (CASE, "TestVector::default"),
        (Described("dispatch", case=CASE), "dispatch TestVector::default"),
        (Described("dispatch", attributes={"scenetest.callable": "main.kernel"}), "dispatch main.kernel"),
        (Described("dispatch"), "dispatch"),
        (Described("phase", "golden", case=CASE), "golden"),
        (Described("process", "driver.py"), "driver.py"),
        (Described("phase", "\udcff"), "\\udcff"),
    ],
)
def test_the_name_of_a_span(span: Described, name: str) -> None:
    assert semantics.name(span) == name


def test_a_dispatch_carries_what_holds_for_its_case() -> None:
    dispatch = Described("dispatch", round=3, attributes={"scenetest.async": True}, case=CASE)
    assert semantics.attributes(dispatch) == {
        "test.suite.name": "TestVector",
        "test.case.name": "default",
        "scenetest.level": 2,
        "scenetest.async": True,
        "scenetest.round": 3,
    }


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("case", {"error.type": "E", "scenetest.outcome": "fail", "test.case.result.status": "fail"}),
        ("dispatch", {"error.type": "E", "scenetest.outcome": "fail"}),
        ("phase", {"error.type": "E"}),
    ],
)
def test_what_says_how_a_span_ended(kind: str, attributes: dict[str, Value | None]) -> None:
    assert semantics.ending(kind, "fail", "E") == attributes


@pytest.mark.parametrize(
    ("outcome", "error_type", "code", "description"),
    [
        ("pass", None, StatusCode.UNSET, None),
        ("fail", "AssertionError", StatusCode.ERROR, "AssertionError"),
        ("error", "ValueError", StatusCode.ERROR, "ValueError"),
        ("aborted", None, StatusCode.ERROR, "aborted"),
        ("skipped", None, StatusCode.UNSET, None),
        ("unknown", None, StatusCode.UNSET, None),
    ],
)
def test_the_status_follows_from_the_outcome(
    outcome: str, error_type: str | None, code: StatusCode, description: str | None
) -> None:
    status = semantics.status(outcome, error_type)
    assert (status.status_code, status.description) == (code, description)


@pytest.mark.parametrize(
    ("value", "cleaned"),
    [
        ("\u00e9", "\u00e9"),
        ("a\udcffb", "a\\udcffb"),
        (True, True),
        (2**63 - 1, 2**63 - 1),
        (2**63, str(2**63)),
        (-(2**63), -(2**63)),
        (0.5, 0.5),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
    ],
)
def test_a_value_that_an_encoder_or_backend_fails_on_becomes_text(value: Value, cleaned: Value) -> None:
    found = semantics.clean({"key": value, "absent": None, "\ud800": 1})
    assert found == {"key": cleaned, "\\ud800": 1}
    assert type(found["key"]) is type(cleaned)


def test_the_span_of_a_run_has_ids_that_every_process_can_derive() -> None:
    context = semantics.run_context({"id": "0123456789abcdef0123456789abcdef", "by": "run"})
    assert context is not None
    assert (context.trace_id, context.span_id) == (0x0123456789ABCDEF0123456789ABCDEF, 0x0123456789ABCDEF)
    assert (context.is_remote, context.trace_flags.sampled) == (True, True)


def test_the_span_of_a_run_below_a_traceparent_is_in_its_trace() -> None:
    header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
    run = {"id": "0123456789abcdef" * 2, "by": "run", "traceparent": header, "tracestate": "vendor=1"}
    context = semantics.run_context(run)
    assert context is not None
    assert (context.trace_id, context.span_id) == (0x0AF7651916CD43DD8448EB211C80319C, 0x0123456789ABCDEF)
    assert (context.trace_flags.sampled, context.trace_state.to_header()) == (False, "vendor=1")


@pytest.mark.parametrize("run", [{}, {"by": "run"}, {"id": "0" * 32, "by": "instrument"}])
def test_a_run_that_no_command_made_has_no_span(run: dict[str, str]) -> None:
    assert semantics.run_context(run) is None
