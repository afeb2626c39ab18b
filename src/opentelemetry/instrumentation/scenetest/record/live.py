"""Live spans: cases, phases and dispatches as spans of the program's own tracer provider.

Tree, names and attributes are the same as in a run that is delivered afterwards. The conditions are attributes of each
case and dispatch, because the provider's resource was fixed before torch was imported. The provider and its exporter
work outside the two clock reads, and none of their errors reaches the harness.
"""

from __future__ import annotations

import json
import os
import sys
from functools import lru_cache

from opentelemetry.context import get_current
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from opentelemetry import trace
from opentelemetry.instrumentation.scenetest import faults, masking, semantics
from opentelemetry.instrumentation.scenetest.clock import monotonic_ns, unix_ns
from opentelemetry.instrumentation.scenetest.conditions import table
from opentelemetry.instrumentation.scenetest.conditions.files import read
from opentelemetry.instrumentation.scenetest.record import outcomes, provider
from opentelemetry.instrumentation.scenetest.rundir import layout
from opentelemetry.instrumentation.scenetest.traceparent import Carried
from opentelemetry.instrumentation.scenetest.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Status, Tracer, TracerProvider

    from opentelemetry.instrumentation.scenetest.conditions.values import Value
    from opentelemetry.instrumentation.scenetest.record.outcomes import Ending


class Live:
    """One live span.

    Args:
        tracer: creates the span.
        run: the contents of `run.json`; empty without a run.
        above: our parent span; None for a case and for a process.
        kind: `case`, `phase`, `dispatch` or `process`.
        attributes: its own attributes.
        name: name of the case, phase or script.
        suite: suite of a case.
        round: number of a dispatch.

    Attributes:
        span: the provider's span.
        case: the case that it belongs to; itself for a case.
        last_end: when its last child span ended, in Unix nanoseconds.
    """

    __slots__ = (
        "_above",
        "_carried",
        "_run",
        "_start",
        "_tracer",
        "attributes",
        "case",
        "kind",
        "last_end",
        "name",
        "round",
        "span",
        "suite",
    )

    span: Span

    def __init__(
        self,
        tracer: Tracer,
        run: Mapping[str, Any],
        above: Live | None,
        kind: str,
        attributes: Mapping[str, Value],
        *,
        name: str = "",
        suite: str = "",
        round: int | None = None,  # noqa: A002
    ) -> None:
        self.kind, self.name, self.suite, self.round, self.attributes = kind, name, suite, round, attributes
        self.case: Live | None = self if kind == "case" else above.case if above else None
        self._tracer, self._run, self._above = tracer, run, above
        self._start = unix_ns()
        self.last_end = self._start
        self._carried: tuple[Mapping[str, Value], dict[str, Value]] = ({}, {})

    def begin_below(
        self, kind: str, attributes: Mapping[str, Value], in_force: Mapping[str, Value], **names: Any
    ) -> Live | None:
        """Begin a child span.

        Args:
            kind: `phase` or `dispatch`.
            attributes: its own attributes.
            in_force: the current conditions of the process. A dispatch gets them as attributes.
            names: `name` or `round`, as for the class.

        Returns:
            The span; None if the provider doesn't make one.
        """
        return _begun(Live(self._tracer, self._run, self, kind, attributes, **names), in_force)

    def start(self, in_force: Mapping[str, Value]) -> bool:
        """Start the provider's span.

        Args:
            in_force: the current conditions of the process.

        Returns:
            Whether the provider made a span. It makes none if our instrumentation scope is disabled.
        """
        known = semantics.clean(semantics.attributes(self))
        if self.kind == "dispatch":
            known |= self._conditions(in_force)
        of_whole = semantics.run_context(self._run) if self.kind == "case" else None
        above = trace.set_span_in_context(self._above.span) if self._above else _context_above()
        self.span = self._tracer.start_span(
            semantics.name(self),
            above,
            attributes=known,
            links=[trace.Link(of_whole)] if of_whole else (),
            start_time=self._start,
        )
        own, parent = self.span.get_span_context(), trace.get_current_span(above).get_span_context()
        return own.is_valid and own.span_id != parent.span_id

    @property
    def ids(self) -> tuple[str, int]:
        """Trace id in hexadecimal and span id as a number."""
        own = self.span.get_span_context()
        return trace.format_trace_id(own.trace_id), own.span_id

    @property
    def carried(self) -> Carried:
        """The flags and state that the span propagates."""
        own = self.span.get_span_context()
        return Carried(int(own.trace_flags), own.trace_state.to_header() if own.trace_state else "")

    @property
    def mark(self) -> dict[str, int | str]:
        """The fields that mark the span in the journal, so that it isn't exported a second time."""
        return {"live": True, "flags": int(self.span.get_span_context().trace_flags), **self.carried.fields()}

    def end(
        self, start: int, end: int, ending: Ending, attributes: Mapping[str, Any] | None, in_force: Mapping[str, Value]
    ) -> None:
        """End the provider's span.

        The span must enclose the program's own spans inside it. So it is longer than the measured duration, by the
        time that the provider itself needs. The attribute `scenetest.duration_ns` holds the measured duration.

        Args:
            start: start of the measurement, in monotonic nanoseconds.
            end: end of the measurement, in monotonic nanoseconds.
            ending: the exception that ended it, or its type; None for none.
            attributes: further attributes, known only now.
            in_force: the current conditions of the process. A case gets them as attributes.
        """
        try:
            # Convert to the Unix clock of the program's own spans. A delay between the two reads makes the span longer,
            # never shorter.
            ago = monotonic_ns() - end
            at = unix_ns() - ago
            if self._above is not None:
                self._above.last_end = max(self._above.last_end, at)
            outcome, error_type = outcomes.told(ending)
            measured = {**(attributes or {}), semantics.DURATION: end - start}
            known = semantics.clean({**measured, **semantics.ending(self.kind, outcome, error_type)})
            if self.kind == "case":
                known = self._conditions(in_force) | known
            self.span.set_attributes(known)
            self._restore_dropped(known, in_force)
            if outcomes.is_error(ending):
                self._fail(ending, semantics.status(outcome, error_type), at)
            self.span.end(at)
        except Exception as fault:
            faults.swallow(provider.USING, fault)

    def end_at_last(self) -> None:
        """End the span of a process at the end of its last child span."""
        try:
            self.span.end(self.last_end)
        except Exception as error:
            faults.swallow(provider.USING, error)

    def _fail(self, ending: Ending, status: Status, at: int) -> None:
        """Record the error. A status that the program set is kept."""
        if isinstance(ending, BaseException):
            self.span.record_exception(ending, timestamp=at)
        elif isinstance(ending, outcomes.Noted) and ending.exception is not None:
            self.span.add_event("exception", ending.exception, timestamp=at)
        present = getattr(self.span, "status", None)
        if present is None or present.is_unset:
            self.span.set_status(status)

    def _restore_dropped(self, ending: Mapping[str, Value], in_force: Mapping[str, Value]) -> None:
        """Set our attributes again if the provider's limit dropped some, so that others are dropped instead."""
        if getattr(self.span, "dropped_attributes", 0):
            conditions = self._conditions(in_force) if self.kind == "dispatch" else {}
            self.span.set_attributes({**conditions, **semantics.clean(semantics.attributes(self)), **ending})

    def _conditions(self, in_force: Mapping[str, Value]) -> dict[str, Value]:
        """Return the attributes that our own resource would hold. Cached per case while the conditions don't change."""
        holder = self.case or self
        if holder._carried[0] is not in_force:
            of_process = {
                "scenetest.run.id": self._run.get("id"),
                "scenetest.run.name": self._run.get("name"),
                "process.pid": os.getpid(),
                "process.parent_pid": os.getppid(),
                "process.command_line": " ".join(masking.recorded(sys.orig_argv)),
            }
            ruler = table.ruler(in_force, holder.attributes)
            holder._carried = in_force, semantics.clean({**in_force, **of_process, "scenetest.ruler": ruler})
        return holder._carried[1]


def begin(
    given: TracerProvider | None, directory: str | None, kind: str, attributes: Mapping[str, Value], **names: Any
) -> Live | None:
    """Begin the live span of a case or process.

    Args:
        given: the provider that was passed to us. None: the global one, if the program has set one.
        directory: the run directory; None without a run.
        kind: `case` or `process`.
        attributes: its own attributes.
        names: `name` and `suite`, as for `Live`.

    Returns:
        The span; None if there is no provider that makes real spans.
    """
    try:
        chosen = provider.used(given)
        if chosen is None:
            return None
        tracer = chosen.get_tracer(semantics.SCOPE_NAME, __version__, schema_url=semantics.SCHEMA_URL)
        return _begun(Live(tracer, _facts(directory), None, kind, attributes, **names), {})
    except Exception as error:
        faults.swallow(provider.USING, error)
        return None


def _begun(live: Live, in_force: Mapping[str, Value]) -> Live | None:
    try:
        return live if live.start(in_force) else None
    except Exception as error:
        faults.swallow(provider.USING, error)
        return None


def _context_above() -> Context | None:
    """Return the parent context of a span without a parent of ours: from `TRACEPARENT`, or None for the current one."""
    if trace.get_current_span().get_span_context().is_valid:
        return None
    carrier = {name.lower(): os.environ[name] for name in ("TRACEPARENT", "TRACESTATE") if name in os.environ}
    return TraceContextTextMapPropagator().extract(carrier, get_current())


@lru_cache(maxsize=1)
def _facts(directory: str | None) -> dict[str, Any]:
    """Return the contents of `run.json`; empty without a run."""
    text = read(os.path.join(directory, layout.RUN_FILE)) if directory else ""
    return json.loads(text) if text else {}
