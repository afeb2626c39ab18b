"""Where each native record belongs: the dispatch that contains it, else the case, else only its process.

Records and journals share CLOCK_MONOTONIC, so a record belongs to the window of its process that contains it. The
children that a level-3 worker forks keep no journal: such a process belongs to the one whose dispatches contain most
of its records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Generic, TypeVar

from opentelemetry.instrumentation.scenetest.native.markers import (
    BIND,
    BindPhase,
    ClockAnchor,
    Drops,
    NativeSpan,
    Record,
    Unreadable,
    Value,
)

T = TypeVar("T")

_AT_ONCE = 64  # how many windows, or spans of one depth, are searched back
_CLOCK_STEP_NS = 60 * 10**9  # how far the wall clock may be set during a run
_LARGEST_INTEGER = 2**63 - 1  # that an attribute can hold


@dataclass(frozen=True, eq=False)
class Window(Generic[T]):
    """The interval of a case or dispatch (`owner`) in the journal, in CLOCK_MONOTONIC nanoseconds.

    `run_id` is the harness's own number of a dispatch, if its handle has one.
    """

    owner: T
    start_ns: int
    end_ns: int
    run_id: int | None = None


@dataclass(frozen=True, eq=False)
class ProcessWindows(Generic[T]):
    """The dispatches and cases of one process.

    `wall_offset_ns`: its wall clock minus its monotonic clock. `children`: the pids of its forked workers, if known.
    """

    pid: int
    parent_pid: int | None
    dispatches: Sequence[Window[T]]
    cases: Sequence[Window[T]] = ()
    wall_offset_ns: int | None = None
    children: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class Placed(Generic[T]):
    """A native span with its parent and its window.

    `start_ns` is CLOCK_MONOTONIC. A device span has only an offset, so its start is reconstructed: the offset is added
    to the start of the host span that waited for the device. It is None if the log has no such span.
    `rank_known` is False for a bind phase that lies in the binds of several ranks.
    """

    span: NativeSpan
    start_ns: int | None
    parent: Placed[T] | None
    window: Window[T] | None
    rank_known: bool = True

    @property
    def attributes(self) -> dict[str, Value]:
        """The fields of the marker but its times, as `simpler.*`, and which clock its start is on."""
        span = self.span
        inv = span.inv if span.inv <= _LARGEST_INTEGER else str(span.inv)
        attributes: dict[str, Value] = {"simpler.inv": inv, "simpler.hid": span.hid, "simpler.depth": span.depth}
        attributes.update((f"simpler.{key}", value) for key, value in span.attributes.items())
        if span.on_device:
            attributes |= {"scenetest.clock": "device", "simpler.ts": span.start_ns}
        if not self.rank_known:
            attributes["scenetest.rank"] = "unknown"
        return attributes


@dataclass(frozen=True)
class Counts:
    """What became of the records of the logs of one run."""

    seen: int
    """Distinct records, unreadable ones included."""
    torn: int
    other_version: int
    dropped: int
    """Records that the writers say they lost."""
    repeated: int
    """Records that the logs hold more than once."""
    unplaced: int
    """Records that lie in no dispatch and no case."""
    rank_unknown: int
    """Bind phases that lie in the binds of several ranks."""

    def problems(self) -> dict[str, int]:
        """Return how many records were lost or could not be placed, by kind. Zero counts are left out."""
        counts = {
            "torn_markers": self.torn,
            "markers_of_another_version": self.other_version,
            "markers_dropped_by_the_writer": self.dropped,
            "markers_not_placed": self.unplaced,
            "bind_phases_of_an_unknown_rank": self.rank_unknown,
        }
        return {problem: count for problem, count in counts.items() if count}


@dataclass(frozen=True, eq=False)
class Native(Generic[T]):
    """All native spans of one run, placed."""

    spans: Sequence[Placed[T]]
    counts: Counts


def place(records: Iterable[Record], processes: Sequence[ProcessWindows[T]]) -> Native[T]:
    """Place every record: in the dispatch that contains it, else in the case, else directly in its process."""
    gathered = _gather(records)
    places = _Places(processes)
    hosts: dict[int, list[NativeSpan]] = defaultdict(list)
    devices: dict[tuple[int, int], list[NativeSpan]] = defaultdict(list)
    for span in gathered.spans:
        if span.on_device:
            devices[span.pid, span.inv].append(span)
        else:
            hosts[span.pid].append(span)

    on_host: list[Placed[T]] = []
    for pid, spans in hosts.items():
        timelines = places.of(pid, spans, gathered.anchors.get(pid))
        passes: dict[tuple[int, str], list[NativeSpan]] = defaultdict(list)
        for span in spans:
            passes[span.inv, span.name.partition(".")[0]].append(span)
        for same in passes.values():
            on_host.extend(_tree(same, timelines))
    by_pass: dict[tuple[int, int], list[Placed[T]]] = defaultdict(list)
    for host in on_host:
        by_pass[host.span.pid, host.span.inv].append(host)
    on_device = [placed for key, spans in devices.items() for placed in _device_tree(spans, by_pass[key])]
    placed = [*on_host, *on_device, *_bind_phases(gathered.phases, on_host)]
    counts = Counts(
        seen=len(placed) + gathered.torn + gathered.other_version,
        torn=gathered.torn,
        other_version=gathered.other_version,
        dropped=sum(gathered.dropped.values()),
        repeated=gathered.repeated,
        unplaced=sum(1 for each in placed if each.window is None),
        rank_unknown=sum(1 for each in placed if not each.rank_known),
    )
    return Native(placed, counts)


@dataclass
class _Gathered:
    spans: list[NativeSpan] = field(default_factory=list[NativeSpan])
    phases: list[BindPhase] = field(default_factory=list[BindPhase])
    anchors: dict[int, ClockAnchor] = field(default_factory=dict[int, ClockAnchor])
    dropped: dict[int, int] = field(default_factory=dict[int, int])
    torn: int = 0
    other_version: int = 0
    repeated: int = 0


def _gather(records: Iterable[Record]) -> _Gathered:
    """Sort the records by kind and drop repeated ones. An xdist worker and its controller report the same records."""
    gathered = _Gathered()
    known: set[tuple[object, ...]] = set()
    for record in records:
        match record:
            case NativeSpan() | BindPhase():
                identity = record[:-1]  # all but the attributes
                if identity in known:
                    gathered.repeated += 1
                    continue
                known.add(identity)
                if isinstance(record, NativeSpan):
                    gathered.spans.append(record)
                else:
                    gathered.phases.append(record)
            case ClockAnchor():
                gathered.anchors[record.pid] = record
            case Drops():  # a running total, repeated after each loss
                gathered.dropped[record.pid] = max(record.total, gathered.dropped.get(record.pid, 0))
            case Unreadable("version"):
                gathered.other_version += 1
            case Unreadable():
                gathered.torn += 1
            case _:
                pass
    return gathered


class _Timeline(Generic[T]):
    """Windows of one kind, in the order of their starts."""

    def __init__(self, windows: Iterable[Window[T]]) -> None:
        self._windows = sorted(windows, key=attrgetter("start_ns"))
        self._starts = [window.start_ns for window in self._windows]

    def containing(self, start_ns: int, end_ns: int) -> Iterator[Window[T]]:
        """Yield the windows that contain an interval. The one that started last comes first."""
        last = bisect_right(self._starts, start_ns)
        for index in range(last - 1, max(-1, last - 1 - _AT_ONCE), -1):
            if end_ns <= self._windows[index].end_ns:
                yield self._windows[index]

    def innermost(self, start_ns: int, end_ns: int, run_id: Value | None = None) -> Window[T] | None:
        """Return the window that contains an interval: the one with this `run_id`, else the one that started last."""
        if run_id is not None:
            of_run = (window for window in self.containing(start_ns, end_ns) if window.run_id == run_id)
            if window := next(of_run, None):
                return window
        return next(self.containing(start_ns, end_ns), None)


@dataclass(frozen=True)
class _Timelines(Generic[T]):
    dispatches: _Timeline[T]
    cases: _Timeline[T]

    def find(self, start_ns: int, end_ns: int, run_id: Value | None = None) -> Window[T] | None:
        dispatch = self.dispatches.innermost(start_ns, end_ns, run_id)
        return dispatch or self.cases.innermost(start_ns, end_ns)


class _Places(Generic[T]):
    """Finds the process whose windows the records of a pid belong to."""

    def __init__(self, processes: Sequence[ProcessWindows[T]]) -> None:
        self._parents = {process.pid: process.parent_pid for process in processes}
        self._wall_offsets = {process.pid: process.wall_offset_ns for process in processes}
        self._parent_of_child = {child: process.pid for process in processes for child in process.children}
        of_pid: dict[int, list[ProcessWindows[T]]] = defaultdict(list)
        for process in processes:
            of_pid[process.pid].append(process)
        self._timelines = {
            pid: _Timelines(
                _Timeline(window for process in same for window in process.dispatches),
                _Timeline(window for process in same for window in process.cases),
            )
            for pid, same in of_pid.items()
        }
        self._nowhere: _Timelines[T] = _Timelines(_Timeline(()), _Timeline(()))

    def of(self, pid: int, spans: Sequence[NativeSpan], anchor: ClockAnchor | None) -> _Timelines[T]:
        """Return the windows of the process that wrote these host spans, else those of the process that forked it."""
        candidates = {pid: both for pid, both in self._timelines.items() if self._same_boot(pid, anchor)}
        owner = pid if pid in candidates else self._parent_of_child.get(pid) or self._likely_parent(spans, candidates)
        return self._nowhere if owner is None else candidates.get(owner, self._nowhere)

    def _same_boot(self, pid: int, anchor: ClockAnchor | None) -> bool:
        """Tell whether the records are of the same boot. Monotonic times of two boots can't be compared."""
        offset = self._wall_offsets[pid]
        if anchor is None or offset is None:
            return True
        return abs(anchor.wall_ns - anchor.mono_ns - offset) < _CLOCK_STEP_NS

    def _likely_parent(self, spans: Sequence[NativeSpan], candidates: Mapping[int, _Timelines[T]]) -> int | None:
        for kind in (attrgetter("dispatches"), attrgetter("cases")):
            timelines: dict[int, _Timeline[T]] = {pid: kind(both) for pid, both in candidates.items()}
            contained = {
                pid: sum(1 for span in spans if timeline.innermost(span.start_ns, _end(span)))
                for pid, timeline in timelines.items()
            }
            most = max(contained.values(), default=0)
            leaders = {pid for pid, count in contained.items() if count == most > 0}
            # A dispatch of an outer level contains those of the processes it forked. The span belongs to the inner one.
            leaders -= {parent for pid in leaders for parent in self._ancestors(pid)}
            if leaders:
                return leaders.pop() if len(leaders) == 1 else None
        return None

    def _ancestors(self, pid: int) -> Iterator[int]:
        seen = {pid}
        parent = self._parents.get(pid)
        while parent is not None and parent not in seen:
            yield parent
            seen.add(parent)
            parent = self._parents.get(parent)


def _end(span: NativeSpan) -> int:
    return span.start_ns + span.duration_ns


def _tree(spans: Iterable[NativeSpan], timelines: _Timelines[T]) -> Iterator[Placed[T]]:
    """Place the host spans of one pass, each below the deepest span of a smaller depth that contains it."""
    open_at: dict[int, deque[Placed[T]]] = defaultdict(lambda: deque(maxlen=_AT_ONCE))
    for span in sorted(spans, key=attrgetter("start_ns", "depth")):
        above = (candidate for depth in range(span.depth - 1, -1, -1) for candidate in reversed(open_at[depth]))
        parent = next((candidate for candidate in above if _end(span) <= _end(candidate.span)), None)
        own = None if parent else timelines.find(span.start_ns, _end(span), span.attributes.get("run_id"))
        placed = Placed(span, span.start_ns, parent, parent.window if parent else own)
        open_at[span.depth].append(placed)
        yield placed


def _device_tree(spans: Iterable[NativeSpan], hosts: Sequence[Placed[T]]) -> Iterator[Placed[T]]:
    """Place the device spans of one pass. All are shifted to the start of the host span that waited for the device."""
    ordered = sorted(spans, key=attrgetter("depth", "start_ns"))
    origin = min(span.start_ns for span in ordered)
    above: dict[str, Placed[T]] = {host.span.name: host for host in hosts}
    window = hosts[0].window if hosts else None
    anchor: Placed[T] | None = None
    for span in ordered:
        parent = next((above[name] for name in _prefixes(span.name) if name in above), None)
        anchor = anchor or parent
        start_ns = anchor.start_ns + span.start_ns - origin if anchor and anchor.start_ns is not None else None
        placed = Placed(span, start_ns, parent, parent.window if parent else window)
        above.setdefault(span.name, placed)
        yield placed


def _prefixes(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _bind_phases(phases: Iterable[BindPhase], hosts: Iterable[Placed[T]]) -> Iterator[Placed[T]]:
    """Place each `bind phase=` line below the bind that contains it. It names neither process nor pass."""
    binds = _Timeline(Window(bind, bind.span.start_ns, _end(bind.span)) for bind in hosts if bind.span.name == BIND)
    for phase in phases:
        start_ns, end_ns = phase.start_ns, phase.start_ns + phase.duration_ns
        found = [window.owner for window in binds.containing(start_ns, end_ns)]
        if len(found) == 1:
            bind = found[0].span
            span = bind._replace(
                depth=bind.depth + 1,
                name=phase.name,
                start_ns=start_ns,
                duration_ns=phase.duration_ns,
                attributes=phase.attributes,
            )
            yield Placed(span, start_ns, found[0], found[0].window)
        else:
            windows = {id(bind.window): bind.window for bind in found}
            window = windows.popitem()[1] if len(windows) == 1 else None
            span = NativeSpan(0, 0, 0, "0", 2, phase.name, start_ns, phase.duration_ns, phase.attributes)
            yield Placed(span, start_ns, None, window, rank_known=not found)
