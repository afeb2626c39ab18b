"""The figures that the harness's users compare, each derived within one native pass.

A pass is one run of the native runtime on one rank: all records of one `(pid, inv)`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from opentelemetry.instrumentation.scenetest.native.markers import BIND
from opentelemetry.instrumentation.scenetest.native.place import Placed, Window

T = TypeVar("T")

HOST = "chip.run"
DEVICE = "chip.run.runner_run.device_wall"
ORCH = f"{DEVICE}.orch"
SCHED = f"{DEVICE}.sched"

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "Host": (HOST,),
    "Device": (DEVICE,),
    "Effective": (ORCH, SCHED),
    "Orch": (ORCH,),
    "Sched": (SCHED,),
    "bind": (BIND,),
    "control plane": tuple(
        f"{BIND}.{phase}" for phase in ("host_orch", "graph_upload", "relocate", "sm_h2d", "arena_h2d")
    ),
}
"""The spans whose times each figure adds up. `Effective` is the time from the first start to the last end.

The control plane is a sum of costs, not an interval. Harnesses before August 2026 have `relocate` and `sm_h2d` too.
"""


@dataclass(frozen=True, eq=False)
class Pass(Generic[T]):
    """One pass.

    Attributes:
        pid: the process that wrote it.
        inv: number of the pass in its process.
        window: the dispatch or case that it lies in.
        start_ns: when it began, in nanoseconds.
        durations: the time spent in the spans of each name, in nanoseconds.
        figures: the figures that the harness's users compare, in nanoseconds. A figure is left out if the pass lacks a
            part of it that other passes of the run have.
    """

    pid: int
    inv: int
    window: Window[T] | None
    start_ns: int
    durations: Mapping[str, int]
    figures: Mapping[str, int]


def passes(spans: Iterable[Placed[T]]) -> list[Pass[T]]:
    """Return the passes that these spans belong to, in the order of their starts."""
    of_pass: dict[tuple[int, int], list[Placed[T]]] = defaultdict(list)
    for placed in spans:
        if placed.rank_known and placed.span.name.startswith(HOST) and placed.span.pid:
            of_pass[placed.span.pid, placed.span.inv].append(placed)
    measured = {placed.span.name for same in of_pass.values() for placed in same}
    found = [_pass(pid, inv, same, measured) for (pid, inv), same in of_pass.items()]
    return sorted(found, key=lambda each: each.start_ns)


def _pass(pid: int, inv: int, spans: Sequence[Placed[T]], measured: set[str]) -> Pass[T]:
    durations: Counter[str] = Counter()
    for placed in spans:
        durations[placed.span.name] += placed.span.duration_ns
    figures = {
        figure: sum(durations[name] for name in names if name in measured)
        for figure, names in COLUMNS.items()
        if any(name in measured for name in names) and all(name in durations for name in names if name in measured)
    }
    if "Effective" in figures:
        windows = [placed.span for placed in spans if placed.span.name in COLUMNS["Effective"]]
        first = min(span.start_ns for span in windows)
        figures["Effective"] = max(span.start_ns + span.duration_ns for span in windows) - first
    start_ns = min((placed.start_ns for placed in spans if placed.start_ns is not None), default=0)
    return Pass(pid, inv, spans[0].window, start_ns, durations, figures)
