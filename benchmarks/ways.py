"""The ways of recording that are measured side by side: ours, the stock SDK's, and none at all.

Each runs in a process of its own (`python ways.py WAY STORE URL`) and does what it is told on standard input, a line at
a time, so that the ways can be measured in turn. Its answers are JSON lines.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from time import monotonic_ns, perf_counter_ns
from typing import Any

WAYS = ("none", "ours", "ours, context attached", "stock SDK")

_GIL_FREE = b"x" * 2_000_000
"""Hashed in about a millisecond, without the GIL, as the harness's `Worker.run` waits."""

Span = Callable[[], AbstractContextManager[Any]]


class Way:
    """One way of recording.

    Attributes:
        spans: makes a case, a phase and a dispatch.
        reading: gives what a dispatch read as, in nanoseconds, where the way knows that at once.
        begin_case: begins the case that the dispatches are in.
    """

    def __init__(
        self,
        spans: dict[str, Span],
        reading: Callable[[Any], int] | None = None,
        begin_case: Callable[[], object] = int,
    ) -> None:
        self.spans = spans
        self.reading = reading
        self.begin_case = begin_case


def none() -> Way:
    return Way(dict.fromkeys(("case", "phase", "dispatch"), nullcontext))


def ours(store: str, *, attached: bool) -> Way:
    from opentelemetry.instrumentation.scenetest import case, dispatch, instrument, phase

    if attached:
        import_module("opentelemetry.trace")
    instrument(journal_dir=store)
    spans: dict[str, Span] = {
        "case": lambda: case("Benchmark", "inner"),
        "phase": lambda: phase("golden"),
        "dispatch": dispatch,
    }
    return Way(spans, begin_case=case("Benchmark", "outer").__enter__)


def stock(url: str) -> Way:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url), max_queue_size=100_000))
    tracer = provider.get_tracer("benchmark")

    def start() -> AbstractContextManager[Any]:
        return tracer.start_as_current_span("dispatch")

    return Way(dict.fromkeys(("case", "phase", "dispatch"), start), lambda span: span.end_time - span.start_time)


def cost(way: Way, kind: str, count: int) -> float:
    """Return the microseconds that one span costs."""
    make = way.spans[kind]
    start = perf_counter_ns()
    for _ in range(count):
        with make():
            pass
    return (perf_counter_ns() - start) / count / 1e3


def looks(way: Way, count: int) -> float:
    """Return the time in microseconds that a case needs to observe the conditions at its start and end."""
    from opentelemetry.instrumentation.scenetest.record.observe import observer

    whole = cost(way, "case", count)
    found = observer.conditions()

    def again(*, at_end: bool = False) -> dict[str, Any]:
        del at_end
        return {**found}

    vars(observer)["conditions"] = again
    try:
        return whole - cost(way, "case", count)
    finally:
        del vars(observer)["conditions"]


def readings(way: Way, count: int, store: str) -> list[float]:
    """Return the recorded durations of empty dispatches, in microseconds."""
    if way.reading is not None:
        spans: list[Any] = []
        for _ in range(count):
            with way.spans["dispatch"]() as span:
                pass
            spans.append(span)
        return [way.reading(span) / 1e3 for span in spans]
    if store:
        for _ in range(count):
            with way.spans["dispatch"]():
                pass
        return _recorded(Path(store))[-count:]
    found: list[float] = []
    for _ in range(count):
        start = monotonic_ns()
        found.append((monotonic_ns() - start) / 1e3)
    return found


def _recorded(store: Path) -> list[float]:
    (journal,) = store.glob("*/*.jsonl")
    lines = (json.loads(line) for line in journal.read_text("ascii").splitlines() if line.startswith('{"kind":"close"'))
    return [(line["end"] - line["start"]) / 1e3 for line in lines]


def region(way: Way, work: Callable[[], object], count: int, exported: int) -> list[float]:
    """Return how long a piece of work takes inside a dispatch, in microseconds, by a clock of its own.

    Args:
        way: how the dispatches are recorded.
        work: the measured work.
        count: how often it is measured.
        exported: spans that are made before, so that they are exported meanwhile where the way does that.
    """
    for _ in range(exported):
        with way.spans["dispatch"]():
            pass
    found: list[float] = []
    for _ in range(count):
        with way.spans["dispatch"]():
            start = monotonic_ns()
            work()
            found.append((monotonic_ns() - start) / 1e3)
    return found


def pure_python() -> int:
    """Work for about 100 us."""
    total = 0
    for number in range(3500):
        total += number * number
    return total


def gil_free() -> object:
    """Work for about a millisecond without the GIL."""
    return hashlib.sha256(_GIL_FREE)


def footprint() -> dict[str, float]:
    """Return memory, threads and sockets of this process."""
    paths = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
    links = [os.readlink(path) for path in paths if os.path.lexists(path)]
    memory = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return {
        "MiB": int(memory.split()[1]) / 1024,
        "threads": threading.active_count(),
        "sockets": sum(link.startswith("socket:") for link in links),
    }


def collections(way: Way, count: int) -> float:
    """Return the garbage collections that 10,000 dispatches cause."""
    before = sum(generation["collections"] for generation in gc.get_stats())
    for _ in range(count):
        with way.spans["dispatch"]():
            pass
    return (sum(generation["collections"] for generation in gc.get_stats()) - before) * 10_000 / count


def growth(way: Way, count: int) -> float:
    """Return by how many MiB the process has grown after this many dispatches."""
    before = footprint()["MiB"]
    for _ in range(count):
        with way.spans["dispatch"]():
            pass
    return max(0.0, footprint()["MiB"] - before)


def fork_to_first_line(way: Way) -> float:
    """Return the microseconds from a fork to the end of the child's first dispatch, in the child."""
    told, tell = os.pipe()
    start = monotonic_ns()
    child = os.fork()
    if child == 0:
        with way.spans["case"](), way.spans["dispatch"]():
            pass
        os.write(tell, str((monotonic_ns() - start) / 1e3).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(tell)
    with os.fdopen(told) as answer:
        return float(answer.read())


def main() -> None:
    """Start one way of recording, and answer questions on standard input."""
    name, store, url = sys.argv[1:]
    began = perf_counter_ns()
    way = {
        "none": none,
        "ours": lambda: ours(store, attached=False),
        "ours, context attached": lambda: ours(store, attached=True),
        "stock SDK": lambda: stock(url),
    }[name]()
    started = {"ms": (perf_counter_ns() - began) / 1e6, **footprint()}
    way.begin_case()
    with way.spans["case"](), way.spans["dispatch"]():
        pass
    first = {"ms": (perf_counter_ns() - began) / 1e6, **footprint()}
    begun = {"start": started, "first case": first}
    works = {"python": pure_python, "gil_free": gil_free}

    def answer(question: str, *arguments: Any) -> object:
        match question, arguments:
            case "begun", ():
                return begun
            case "cost", (kind, count):
                return cost(way, kind, count)
            case "looks", (count,):
                return looks(way, count)
            case "readings", (count,):
                return readings(way, count, store if name.startswith("ours") else "")
            case "region", (work, count, exported):
                return region(way, works[work], count, exported)
            case "collections", (count,):
                return collections(way, count)
            case "growth", (count,):
                return growth(way, count)
            case "fork", ():
                return fork_to_first_line(way)
            case _:
                raise ValueError(question)

    for line in sys.stdin:
        print(json.dumps(answer(*json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
