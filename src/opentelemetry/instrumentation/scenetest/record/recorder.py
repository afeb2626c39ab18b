"""Records cases, phases and dispatches: two clock reads each, with one journal line before and one after them.

None of our errors reaches the harness: `faults.swallow` takes them.
"""

from __future__ import annotations

from _thread import get_ident
from contextvars import ContextVar

from opentelemetry.instrumentation.scenetest import faults, standard_library
from opentelemetry.instrumentation.scenetest.clock import monotonic_ns
from opentelemetry.instrumentation.scenetest.record import autoload, context, open_cases, session
from opentelemetry.instrumentation.scenetest.record.rounds import RoundNumbers
from opentelemetry.instrumentation.scenetest.record.session import active
from opentelemetry.instrumentation.scenetest.traceparent import Parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any, TypeVar

    from opentelemetry.instrumentation.scenetest.conditions.values import Value
    from opentelemetry.instrumentation.scenetest.record.current_span import CurrentSpan
    from opentelemetry.instrumentation.scenetest.record.live import Live
    from opentelemetry.instrumentation.scenetest.record.outcomes import Ending
    from opentelemetry.instrumentation.scenetest.traceparent import Carried

    Self = TypeVar("Self", bound="OpenSpan")

_current: ContextVar[OpenSpan | None] = ContextVar("scenetest_span", default=None)

innermost = _current.get
"""Return the innermost span of this context. Unlike with `current`, it may have ended or belong to another process."""


def current() -> OpenSpan | None:
    """Return the innermost open span of this process in this context.

    With generators, tasks and forks, spans may end in another context or order than they began. So this skips spans
    that have ended or belong to another process.
    """
    span = _current.get()
    while span is not None and (span.session is None or span.session is not active.session):
        span = span.outer
    return span


class OpenSpan:
    """A context manager and decorator that records a span: the base of `case`, `phase` and `dispatch`.

    It does nothing in a process that is not instrumented. Exceptions pass through unchanged.
    """

    __slots__ = (
        "_attached",
        "_entered",
        "_entered_as",
        "_head",
        "_of_thread",
        "_reentered",
        "_seen",
        "carried",
        "holder",
        "live",
        "number",
        "outer",
        "rounds",
        "session",
        "start",
        "trace",
    )

    number: int
    """The span id as a number."""
    trace: str
    carried: Carried
    """The flags and state that the trace propagates."""
    start: int
    holder: OpenSpan | None
    """The case or dispatch that is the parent of spans inside this span. It may be the span itself."""
    rounds: RoundNumbers
    """Numbers the dispatches of the case."""

    def __init__(self) -> None:
        self.session: session.Session | None = None
        self.outer: OpenSpan | None = None
        self._attached: context.Attached | None = None
        self._head: bytes | None = None
        self._of_thread: Mapping[str, Value] | None = None
        """In another thread than the main one: how its conditions differed from those of the process at the start."""
        self._entered = False
        self._reentered = False
        """Each later entry of this object is a new span: the first one may still be open."""
        self._entered_as: OpenSpan | None = None
        """The object that the program entered again, if this span comes from a later entry."""
        self.live: Live | None = None
        """The same span on the program's own tracer provider."""
        self._seen: CurrentSpan | None = None
        """The same span as the program sees it, if the program uses the OpenTelemetry API."""

    @property
    def id(self) -> str:
        """The span id as 16 hexadecimal digits."""
        return f"{self.number:016x}"

    def __enter__(self: Self) -> Self:
        span = self
        try:
            recording = active.session or session.begin()
            if recording is not None and not context.is_suppressed():
                if self._entered:
                    self._reentered = True
                    span = self._again()
                    span._entered_as = self
                self._entered = True
                span._open(recording)
        except Exception as error:
            faults.swallow("record everything", error)
        span.start = monotonic_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        end = monotonic_ns()
        try:
            span = self._innermost_entry() if self._reentered else self
            if span is None:
                return
            if _current.get() is span and span._attached is None:
                _current.set(span.outer)
            else:
                span.leave()
            recording, span.session = span.session, None
            if recording is not None and recording is active.session:
                span._close(recording, end, kind if error is None else error)
            span.holder = None  # usually the span itself: a reference cycle would wait for the garbage collector
        except Exception as fault:
            faults.swallow("record everything", fault)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function whose calls are each recorded as a span."""
        with standard_library.imports:
            from opentelemetry.instrumentation.scenetest.record import decorate

        return decorate.with_span(self._again, function)

    def leave(self) -> None:
        """Stop being the current span of this context. The span itself stays open."""
        if _current.get() is self:
            _current.set(self.outer)
        if self._attached is not None:
            context.restore(self._attached)
            self._attached = None

    def head(self) -> bytes:
        """Return the constant beginning of the `open` line of each dispatch in this span."""
        if self._head is None:
            self._head = (_OPEN_HEAD % (self.trace, self.id)).encode("ascii")
        return self._head

    def as_parent(self) -> Parent:
        """Return the span as the parent of a case inside it."""
        return Parent(self.trace, self.id, self.carried)

    def _again(self: Self) -> Self:
        """Return a new span with the same arguments, since several calls of a decorated function may overlap."""
        raise NotImplementedError

    def _innermost_entry(self) -> OpenSpan | None:
        """Return the innermost open span of this context that began when this object was entered."""
        span = _current.get()
        while span is not None and (span.session is None or (span is not self and span._entered_as is not self)):
            span = span.outer
        return span

    def _open(self, recording: session.Session) -> None:
        raise NotImplementedError

    def _begin(self, recording: session.Session) -> None:
        self.session = recording
        _current.set(self)
        if self.live is not None:
            self._attached = context.attach_span(self.live.span)
        elif recording.recording and context.in_use():
            self._attached, self._seen = context.attach(self.trace, self.number, self.carried)

    def _close(
        self, recording: session.Session, end: int, ending: Ending, attributes: Mapping[str, object] | None = None
    ) -> None:
        seen, self._seen = self._seen, None
        if self._of_thread is not None:
            recording.threads.write_change(recording, self.id, self._of_thread)
        if ending is None and attributes is None and self.live is None:
            added = seen.finish() if seen is not None else None
            if not added:
                recording.write(_CLOSE % (self.number, self.start, end))
                return
            recording.write_line("close", id=self.id, start=self.start, end=end, outcome="pass", added=added)
            return
        from opentelemetry.instrumentation.scenetest.record import outcomes

        outcome, error = outcomes.told(ending)
        event = outcomes.exception_event(ending, end)
        added = seen.finish(event) if seen is not None else {"events": [event]} if event else None
        ended: dict[str, object] = {"id": self.id, "start": self.start, "end": end, "outcome": outcome, "error": error}
        recording.write_line("close", **ended, attributes=attributes, added=added)
        if self.live is not None:
            in_force = recording.conditions_since(self.start)
            self.live.end(self.start, end, ending, attributes, in_force)
            self.live = None
            if recording.provider is not None:
                recording.provider.is_flushed = False

    def _follow(self, live: Live | None) -> Mapping[str, int | str]:
        """Use the ids of a live span, and return the fields that mark it in the journal; empty without one."""
        self.live = live
        if live is None:
            return {}
        self.trace, self.number = live.ids
        self.carried = live.carried
        return live.mark


_CLOSE = b'{"kind":"close","id":"%016x","start":%d,"end":%d,"outcome":"pass"}\n'
_OPEN = b'%b"id":"%016x","at":%d,"round":%d}\n'
_OPEN_HEAD = '{"kind":"open","span":"dispatch","trace":"%s","parent":"%s",'


class case(OpenSpan):  # noqa: N801
    """One case of a suite, as a context manager or a decorator.

    Args:
        suite: name of the suite; becomes `test.suite.name`.
        name: name of the case; becomes `test.case.name`.
        level: level of the scene, 2, 3 or 4; becomes `scenetest.level`.
        platform: the platform that it runs on, for example `a2a3sim`; becomes `scenetest.platform`.
        runtime: the runtime that runs it, for example `host_build_graph`; becomes `scenetest.runtime`.
        **attributes: further attributes of the case; each becomes `scenetest.<name>`.
    """

    __slots__ = ("_given", "_pressure", "attributes", "name", "suite")

    attributes: Mapping[str, Value]
    """The attributes that were known when the case began."""

    def __init__(
        self,
        suite: str,
        name: str,
        *,
        level: int | None = None,
        platform: str | None = None,
        runtime: str | None = None,
        **attributes: object,
    ) -> None:
        super().__init__()
        self.suite = suite
        self.name = name
        self._given = {"level": level, "platform": platform, "runtime": runtime, **attributes}

    def _again(self) -> case:
        return case(self.suite, self.name, **self._given)  # type: ignore[arg-type]

    def _open(self, recording: session.Session) -> None:
        from opentelemetry.instrumentation.scenetest.conditions import case as of_case
        from opentelemetry.instrumentation.scenetest.rundir import lines

        recording.look()
        self.outer = outer = current()
        self.holder, self.rounds = self, RoundNumbers()
        self.number = next(recording.ids)
        suite, name = lines.text(self.suite), lines.text(self.name)
        self.attributes = attributes = {**of_case.load(), **lines.attributes(self._given)}
        parent = context.parent() if context.in_use() or outer is None else outer.as_parent()
        live = recording.begin_live("case", attributes, suite=suite, name=name)
        if live is None:
            begun = (parent.trace, parent.carried) if parent else context.begin_trace(f"{suite}::{name}")
            self.trace, self.carried = begun
        mark = self._follow(live) or self.carried.fields()
        above, remote = (parent.id, parent.remote or None) if parent else (None, None)
        self._of_thread = of_thread = recording.threads.differing(recording.conditions)
        known: dict[str, object] = {"suite": suite, "name": name, "attributes": attributes, "of_thread": of_thread}
        recording.write_open("case", self.id, self.trace, above, remote=remote, **known, **mark)
        self._begin(recording)
        recording.cases.add(self)
        self._pressure = of_case.cpu_pressure()

    def _close(
        self, recording: session.Session, end: int, ending: Ending, attributes: Mapping[str, object] | None = None
    ) -> None:
        from opentelemetry.instrumentation.scenetest.conditions import case as of_case

        noted, counted = recording.cases.remove(self)
        recording.refresh()
        known = {**of_case.at_end(self._pressure, end - self.start), **counted}
        super()._close(recording, end, ending or noted, known)


class phase(OpenSpan):  # noqa: N801
    """A stage of a case outside its dispatches, as a context manager or a decorator.

    Args:
        name: `args`, `golden`, `compare` or any other word.
        **attributes: further attributes; each becomes `scenetest.<name>`.
    """

    __slots__ = ("_given", "name")

    def __init__(self, name: str, **attributes: object) -> None:
        super().__init__()
        self.name = name
        self._given = attributes

    def _again(self) -> phase:
        return phase(self.name, **self._given)

    def _open(self, recording: session.Session) -> None:
        from opentelemetry.instrumentation.scenetest.rundir import lines

        self.outer = outer = current()
        self.holder = outer.holder if outer else open_cases.around(recording, _current.get())
        above = self.holder or recording.process_span()
        self.trace, self.carried, parent = above.trace, above.carried, above.id
        self.number = next(recording.ids)
        name, attributes = lines.text(self.name), lines.attributes(self._given)
        live = self.holder.live if self.holder else recording.live_process
        mark = self._follow(live and live.begin_below("phase", attributes, recording.conditions, name=name))
        recording.write_open("phase", self.id, self.trace, parent, name=name, attributes=attributes, **mark)
        self._begin(recording)


class dispatch(OpenSpan):  # noqa: N801
    """One dispatch to the device: the timed region. A context manager or a decorator.

    Args:
        round: number of the round. Without it, rounds are counted from 0 within the case. After `round=3` comes 4.
        **attributes: further attributes; each becomes `scenetest.<name>`.
    """

    __slots__ = ("_function", "_given", "_round")

    _function: str | None
    """Name of the decorated function; None for a context manager."""

    def __init__(self, *, round: int | None = None, **attributes: object) -> None:  # noqa: A002
        # super().__init__() is not called: calls like that are a tenth of the cost of a dispatch.
        self.session = self._attached = self._head = self.live = self._seen = self._of_thread = None
        self._function = self._entered_as = None
        self._entered = self._reentered = False
        self._round = round
        self._given = attributes

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function whose calls are each recorded as a dispatch. Outside any case, its name identifies it."""
        self._function = getattr(function, "__qualname__", None)
        return super().__call__(function)

    def _again(self) -> dispatch:
        again = dispatch(round=self._round, **self._given)
        again._function = self._function
        return again

    def _open(self, recording: session.Session) -> None:
        if recording.fingerprint != autoload.fingerprint():
            recording.refresh()
        outer = _current.get()
        if outer is not None and outer.session is not recording:
            outer = current()
        self.outer = outer
        holder = outer.holder if outer is not None else open_cases.around(recording, _current.get())
        if holder is not None:
            self.trace, self.carried, rounds = holder.trace, holder.carried, holder.rounds
        else:
            if self._function is not None:
                self._given = {"callable": self._function, **self._given}
            of_process = recording.process_span()
            self.trace, self.carried = of_process.trace, of_process.carried
            rounds = recording.rounds_of(str(self._given.get("callable", "")))
        self.holder, self.rounds = self, rounds
        self.number = next(recording.ids)
        number = next(rounds.numbers) if self._round is None else rounds.go_on_from(self._round)
        of_thread = recording.threads.differing(recording.conditions) if get_ident() != recording.threads.main else None
        self._of_thread = of_thread
        if holder is None or self._given or holder.live is not None or of_thread:
            from opentelemetry.instrumentation.scenetest.rundir import lines

            parent = recording.process_span().id if holder is None else holder.id
            attributes = lines.attributes(self._given)
            above = recording.live_process if holder is None else holder.live
            in_force = {**recording.conditions, **of_thread} if of_thread else recording.conditions
            mark = self._follow(above and above.begin_below("dispatch", attributes, in_force, round=number))
            known = {"round": number, "attributes": attributes, "of_thread": of_thread}
            recording.write_open("dispatch", self.id, self.trace, parent, **known, **mark)
        else:
            recording.write(_OPEN % (holder._head or holder.head(), self.number, monotonic_ns(), number))
        self._begin(recording)
