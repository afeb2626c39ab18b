"""The session of a process: its journal, its span ids and its current conditions.

It is created at the first case or dispatch of a process. A forked child drops the inherited session and creates its
own, so it never writes to the journal of its parent.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock
from itertools import count

from opentelemetry.instrumentation.scenetest import faults, standard_library
from opentelemetry.instrumentation.scenetest.clock import monotonic_ns
from opentelemetry.instrumentation.scenetest.conditions.values import UNKNOWN
from opentelemetry.instrumentation.scenetest.record import autoload, context, preload
from opentelemetry.instrumentation.scenetest.record.open_cases import OpenCases
from opentelemetry.instrumentation.scenetest.record.rounds import RoundNumbers
from opentelemetry.instrumentation.scenetest.record.state import state
from opentelemetry.instrumentation.scenetest.record.threads import Threads
from opentelemetry.instrumentation.scenetest.rundir import handover, layout, run_file, writer
from opentelemetry.instrumentation.scenetest.traceparent import Parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from opentelemetry.instrumentation.scenetest.conditions.values import Value
    from opentelemetry.instrumentation.scenetest.record import provider
    from opentelemetry.instrumentation.scenetest.record.live import Live
    from opentelemetry.instrumentation.scenetest.record.recorder import case

_SPAN_IDS = 1 << 63


class Session:
    """The state that one process records with, from its first case or dispatch to its end.

    Attributes:
        recording: whether there is a journal to write to.
        ids: the span ids, from a random start in steps of one. Taking the next one is atomic and costs little.
        conditions: the current conditions.
        fingerprint: value of `autoload.fingerprint` when they were observed; None before they were logged.
        cases: the open cases.
        threads: observes the conditions that differ between threads.
        forked_from: the sessions of the ancestor processes that this one was forked from, the nearest first.
        changed_at: when each ruler condition was last seen to have changed, in monotonic nanoseconds.
        live_process: the span of the process, if it is made on the program's own provider.
        provider: tracks whether that provider was flushed; None before the first live span.
        write: appends one finished line to the journal, if there is one.
    """

    __slots__ = (
        "_logged",
        "_looked",
        "_process_span",
        "_rounds",
        "_service",
        "_writer",
        "cases",
        "changed_at",
        "conditions",
        "fingerprint",
        "forked_from",
        "ids",
        "live_process",
        "provider",
        "recording",
        "threads",
        "write",
    )

    def __init__(self, run: str | None) -> None:
        self.ids = count(int.from_bytes(os.urandom(8), "big") % _SPAN_IDS + 1)
        self.conditions: dict[str, Value] = {}
        self.fingerprint: tuple[object, ...] | None = None
        self.write: Callable[[bytes], None] = _write_nothing
        self.live_process: Live | None = None
        self.cases = OpenCases()
        self.threads = Threads()
        self.forked_from = active.forked_from
        self.changed_at: dict[str, int] = {}
        self._logged = False
        self._looked = 0
        self.provider: provider.FlushTracker | None = None
        self._process_span: Parent | None = None
        self._rounds: dict[str, RoundNumbers] = {}
        self._service: dict[str, object] = {}
        self._writer: writer.Writer | None = None
        self.recording = run is not None
        if run is not None:
            self._begin_journal(run)

    def expire(self) -> None:
        """Observe the conditions again before the next dispatch."""
        from opentelemetry.instrumentation.scenetest.record import observe

        observe.observer.expire()
        self.fingerprint = None

    def refresh(self) -> None:
        """Observe the conditions before a dispatch, and log them the first time."""
        from opentelemetry.instrumentation.scenetest.record import observe

        with state.lock, standard_library.imports:
            fingerprint = autoload.fingerprint()
            observe.observer.note_first_case()
            self.look()
            if not self._logged:
                self._logged = True
                observe.log(self.conditions)
            self.fingerprint = fingerprint

    def look(self, *, at_end: bool = False) -> None:
        """Observe the conditions and the service name, and write what changed. `at_end`: whether the process ends."""
        from opentelemetry.instrumentation.scenetest.conditions import table
        from opentelemetry.instrumentation.scenetest.record import observe

        with state.lock, standard_library.imports:
            began, imported = monotonic_ns(), autoload.first_lookup()
            found = observe.observer.conditions(at_end=at_end)
            if found != self.conditions:
                changed, at = table.changed(self.conditions, found), monotonic_ns()
                since = self._since(changed, found, imported)
                # Write first, so that no later dispatch is attributed to the previous conditions.
                self.write_line("conditions", at=at, since=since, conditions=found)
                self.conditions = found
                self.changed_at.update(dict.fromkeys(changed, at))
            service = observe.service()
            if service != self._service:
                self.write_line("service", **service)
                self._service = service
            self._looked = began

    def _since(self, changed: Sequence[str], found: Mapping[str, Value], imported: int | None) -> int:
        """Return the earliest time at which any of these conditions can have changed, in monotonic nanoseconds."""
        from opentelemetry.instrumentation.scenetest.conditions import table
        from opentelemetry.instrumentation.scenetest.record import observe

        noted = max(observe.observer.noted_at, self._looked)
        by_import = autoload.explained_by_import(changed, self.conditions, found) if imported is not None else ()
        return min(
            (
                noted
                if table.CONDITIONS[key].moment == "worker_init"
                else imported
                if imported is not None and key in by_import
                else self._looked
                for key in changed
            ),
            default=self._looked,
        )

    def conditions_since(self, began: int) -> Mapping[str, Value]:
        """Return the current conditions, with `unknown` for those that changed after the monotonic time `began`."""
        touched = {key: UNKNOWN for key, at in self.changed_at.items() if at > began}
        return {**self.conditions, **touched} if touched else self.conditions

    def write_line(self, kind: str, **fields: object) -> None:
        """Append one line to the journal. Fields that are None or empty are left out."""
        if self._writer is not None:
            from opentelemetry.instrumentation.scenetest.rundir import lines

            self.write(lines.line(kind, **fields))

    def write_open(self, kind: str, span: str, trace: str, parent: str | None, **fields: object) -> None:
        """Append the line that says that a span begins."""
        self.write_line("open", span=kind, id=span, trace=trace, parent=parent, at=monotonic_ns(), **fields)

    def begin_live(self, kind: str, attributes: Mapping[str, Value], **names: Any) -> Live | None:
        """Begin a live span of a case or process; None if live spans aren't used.

        They are used if a provider was passed to us, or if there is no run directory and the program uses the
        OpenTelemetry API. Spans below a live span are live, too.
        """
        if state.tracer_provider is None and (state.directory is not None or not context.in_use()):
            return None
        with standard_library.imports:
            from opentelemetry.instrumentation.scenetest.record import live

        begun = live.begin(state.tracer_provider, state.directory, kind, attributes, **names)
        if begun is not None:
            self._track_provider(wrap=self.recording or kind == "process")
        elif self.recording and state.directory is not None:
            # The given provider makes no spans, so we deliver ours from the journal.
            handover.start(state.directory)
        return begun

    def take_over(self, inherited: case, **fields: object) -> None:
        """Write a case of the parent process to this journal, once, because this process records spans in it."""
        with state.lock:
            if self.cases.inherited is not inherited:
                inherited.rounds = RoundNumbers()
                if inherited.live is not None:
                    self._track_provider(wrap=self.recording)
                self.write_open("case", inherited.id, inherited.trace, None, inherited=True, **fields)
                self.cases.inherited = inherited

    def rounds_of(self, callable_name: str) -> RoundNumbers:
        """Return the round numbers for the dispatches of a callable outside any case."""
        return self._rounds.setdefault(callable_name, RoundNumbers())

    def process_span(self) -> Parent:
        """Return the parent of spans outside any case. It begins at the first call."""
        with state.lock:
            if self._process_span is None:
                self._process_span = self._open_process_span()
            return self._process_span

    def _open_process_span(self) -> Parent:
        name = run_file.script_of_process()
        outer = context.parent()
        self.live_process = live = self.begin_live("process", {}, name=name)
        if live is not None:
            trace, number = live.ids
            span, mark = Parent(trace, f"{number:016x}", live.carried), live.mark
        else:
            trace, carried = (outer.trace, outer.carried) if outer else context.begin_trace(name)
            span, mark = Parent(trace, f"{next(self.ids):016x}", carried), carried.fields()
        above, remote = (outer.id, outer.remote or None) if outer else (None, None)
        self.write_open("process", span.id, span.trace, above, remote=remote, name=name, **mark)
        return span

    def _track_provider(self, *, wrap: bool) -> None:
        if self.provider is None:
            from opentelemetry.instrumentation.scenetest.record import provider

            self.provider = provider.FlushTracker(active)
        is_new = wrap and self.provider.begin(state.tracer_provider)
        self.provider.is_flushed = False
        if is_new:
            _at_exit()  # register again: exit handlers run in reverse order, and ours must come before the provider's

    def finish(self, *, flush: bool = False) -> None:
        """Observe the conditions for the last time, and write that the process ended cleanly.

        Args:
            flush: flush the program's own provider, because no later code does.
        """
        try:
            if self.recording:
                self.look(at_end=True)
        finally:
            at = monotonic_ns()
            self.end_live_process()
            is_sent = self.provider is None or self.provider.is_sent(state.tracer_provider, flush=flush)
            self.write_line("end", at=at, flushed=None if is_sent else False)

    def end_live_process(self) -> None:
        """End the live span of the process, if there is one. A later dispatch begins a new one."""
        ended, self.live_process = self.live_process, None
        if ended is not None:
            self._process_span = None
            ended.end_at_last()
            if self.provider is not None:
                self.provider.is_flushed = False

    def close(self) -> None:
        """Close the journal, and so release its lock."""
        self.recording, self.write = False, _write_nothing
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _begin_journal(self, run: str) -> None:
        from opentelemetry.instrumentation.scenetest.record import observe

        try:
            self._writer = writer.Writer(run)
            _complete(run)
            self.write = self._writer.write
            self._looked = monotonic_ns()
            autoload.first_lookup()
            self.conditions = observe.observer.conditions()
            if state.tracer_provider is None:  # a given provider exports the spans itself
                handover.start(run)
            self._service = observe.service()
            identity = {**observe.identity(), **self._service}
            self.write_line("process", schema=layout.SCHEMA, **identity, conditions=self.conditions)
        except Exception as error:
            self.close()
            faults.swallow(f"write a journal in {run}", error)


class Active:
    """Holds the session of this process.

    Attributes:
        session: the session; None before the first case or dispatch.
        forked_from: the sessions of the ancestor processes that this one was forked from, the nearest first.
    """

    __slots__ = ("forked_from", "session")

    def __init__(self) -> None:
        self.session: Session | None = None
        self.forked_from: tuple[Session, ...] = ()


active = Active()


def _complete(run: str) -> None:
    """Write `run.json` if it is missing: the run's creator may have ended and deleted the run, empty until now."""
    if not os.path.exists(os.path.join(run, layout.RUN_FILE)):
        try:
            run_file.write(run, by="instrument", command=sys.orig_argv, name=os.path.basename(run))
        except OSError:  # another process was faster, or the disk is full; the journal can be read without it
            return


def _write_nothing(line: bytes) -> None:
    pass


def begin() -> Session | None:
    """Create the session of this process, and return it; None if the process is not instrumented."""
    if not state.instrumented:
        return None
    with state.lock, standard_library.imports:
        if active.session is None:
            preload.recording()
            _at_end()
            active.session = Session(state.directory)
    return active.session


def begin_for_import() -> None:
    """Create the session when torch or the harness was imported, so that a process without dispatches is recorded."""
    try:
        if state.directory is not None:
            begin()
    except Exception as error:
        faults.swallow("record what was imported", error)


def finish() -> None:
    """End the session cleanly in a forked child, before its `os._exit`."""
    _end(flush=True)


def _end(*, flush: bool = False) -> None:
    if active.session is not None:
        try:
            active.session.finish(flush=flush)
        except Exception as error:
            faults.swallow("record everything", error)


def discard() -> None:
    """End the session and drop it. A later case or dispatch creates a new one."""
    _end()
    if active.session is not None and active.session.provider is not None:
        active.session.provider.let_go()
    let_go()


def let_go() -> None:
    """Close the journal and drop the session, without writing the end of the process."""
    if active.session is not None:
        active.session.close()
        active.session = None


def _at_exit() -> None:
    import atexit

    atexit.unregister(_end)
    atexit.register(_end)


def _at_end() -> None:
    _at_exit()
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        # A forked multiprocessing child ends with os._exit: its finalizers run, atexit handlers don't.
        from multiprocessing.util import Finalize

        Finalize(None, finish, exitpriority=0)


def _forget_in_child() -> None:
    state.lock = RLock()  # another thread of the parent may have held it
    inherited, active.session = active.session, None
    if inherited is not None:
        inherited.close()
        active.forked_from = (inherited, *active.forked_from)


def _before_fork() -> None:
    if state.instrumented:
        preload.before_fork()


os.register_at_fork(before=_before_fork, after_in_child=_forget_in_child)
