"""What a span is called and carries: the same when it is delivered afterwards as when it is made live."""

from __future__ import annotations

import math

from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags, TraceState

from opentelemetry.instrumentation.scenetest import traceparent
from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS
from opentelemetry.instrumentation.scenetest.conditions.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from opentelemetry.instrumentation.scenetest.traceparent import Carried, Parent

    class Described(Protocol):
        """What has to be known of a span, by either side."""

        @property
        def kind(self) -> str:
            """`case`, `phase`, `dispatch` or `process`."""
            ...

        @property
        def name(self) -> str:
            """Name of the case, phase or script; empty for a dispatch."""
            ...

        @property
        def suite(self) -> str:
            """Suite of a case; empty otherwise."""
            ...

        @property
        def round(self) -> int | None:
            """Number of a dispatch; None otherwise."""
            ...

        @property
        def attributes(self) -> Mapping[str, Value]:
            """Its own attributes."""
            ...

        @property
        def case(self) -> Described | None:
            """The case that it lies in; itself for a case."""
            ...


SCOPE_NAME = "opentelemetry.instrumentation.scenetest"
_MEASURED = frozenset(key for key, condition in CONDITIONS.items() if condition.measured)
SCHEMA_URL = "https://opentelemetry.io/schemas/1.37.0"
"""The semantic conventions that the names of attributes follow."""

DURATION = "scenetest.duration_ns"
"""What was measured, where the span itself is wider."""

_FAILED = frozenset({"fail", "error", "aborted"})
_INT64_LIMIT = 1 << 63


def name(span: Described) -> str:
    """Return the name of a span.

    No condition goes into it: Jaeger's comparison of two traces pairs spans by name.
    """
    if span.kind == "case":
        return text(f"{span.suite}::{span.name}")
    if span.kind == "dispatch":
        callable_name = span.attributes.get("scenetest.callable", "")
        return text(
            f"dispatch {span.case.suite}::{span.case.name}" if span.case else f"dispatch {callable_name}".rstrip()
        )
    return text(span.name)


def attributes(span: Described) -> dict[str, Value | None]:
    """Return what is known of a span from its beginning, beside the conditions."""
    return {**(of_case(span.case) if span.case else {}), **of_itself(span)}


def of_case(case: Described) -> dict[str, Value | None]:
    """Return what holds for a case: it is on its dispatches too, so that each timing carries its conditions.

    What was measured of the machine, such as its load, stays on the case: nobody searches for one such value.
    """
    conditions = {key: value for key, value in case.attributes.items() if key not in _MEASURED}
    return {"test.suite.name": case.suite, "test.case.name": case.name, **conditions}


def of_itself(span: Described) -> dict[str, Value | None]:
    """Return what is known of a span from its beginning, beside what holds for its case."""
    found: dict[str, Value | None] = {**span.attributes}
    if span.kind == "dispatch":
        found["scenetest.round"] = span.round
    return found


def ending(kind: str, outcome: str, error_type: str | None) -> dict[str, Value | None]:
    """Return the attributes that say how a span ended."""
    found: dict[str, Value | None] = {"error.type": error_type}
    if kind in ("case", "dispatch"):
        found["scenetest.outcome"] = outcome
    if kind == "case":
        found["test.case.result.status"] = outcome
    return found


def status(outcome: str, error_type: str | None) -> Status:
    """Return the status of a span by its outcome. Without an error it is left unset, as instrumentations should."""
    if outcome in _FAILED:
        return Status(StatusCode.ERROR, error_type or outcome)
    return Status(StatusCode.UNSET)


def run_parent(run: Mapping[str, Any]) -> Parent | None:
    """Return the parent of a run: the `TRACEPARENT` that `scenetest-otel run` was started with."""
    return traceparent.parse(run.get("traceparent") or "", run.get("tracestate") or "")


def run_context(run: Mapping[str, Any]) -> SpanContext | None:
    """Return the context of the span of a run that `scenetest-otel run` made.

    Its ids are derived from the run's, or from the run's parent, so that every process can link to it.
    """
    run_id = run.get("id")
    if not run_id or run.get("by") != "run":
        return None
    parent = run_parent(run)
    trace, carried = (parent.trace, parent.carried) if parent else (run_id, traceparent.SAMPLED)
    return span_context(trace, run_id[:16], carried, remote=True)


def span_context(
    trace_id: str, span_id: str, carried: Carried = traceparent.SAMPLED, *, remote: bool = False
) -> SpanContext:
    """Return the context of a span.

    Args:
        trace_id: in hexadecimal.
        span_id: in hexadecimal.
        carried: what its trace hands on.
        remote: whether it is a span of another process than the one that refers to it.
    """
    state = TraceState.from_header([carried.state]) if carried.state else None
    return SpanContext(int(trace_id, 16), int(span_id, 16), remote, TraceFlags(carried.flags), state)


def clean(given: Mapping[str, Value | None]) -> dict[str, Value]:
    """Return attributes that no encoder and no backend chokes on.

    A surrogate in a text or an integer of more than 64 bits fails a whole batch or is dropped in silence, and one NaN
    makes Jaeger answer 500 to every search that hits it: they become text. What is None is left out.
    """
    return {text(key): _value(value) for key, value in given.items() if value is not None}


def text(given: str) -> str:
    """Return text that UTF-8 can encode, with lone surrogates escaped."""
    return given if given.isascii() else given.encode("utf-8", "backslashreplace").decode("utf-8")


def _value(value: Value) -> Value:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    # Compared, not looked up in a range: that searches one by one for an int of a subclass, such as an IntEnum.
    return value if -_INT64_LIMIT <= value < _INT64_LIMIT else str(value)
