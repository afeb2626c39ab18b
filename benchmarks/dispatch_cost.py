"""Measures the cost of a dispatch and the duration of an empty one: ours, the stock SDK's, and two bare clock reads.

All in one run and interleaved, since ratios hold where a machine is shared and absolute times do not. Run it by
`python benchmarks/dispatch_cost.py`; each way gets a process of its own, because importing OpenTelemetry changes ours.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import monotonic_ns, perf_counter_ns

REPETITIONS = 15
DISPATCHES = 2000
GOALS = {"ours": (5.0, 0.25), "ours, context attached": (9.0, 0.4)}

Measured = dict[str, list[float]]


def bare() -> Callable[[], int]:
    def read() -> int:
        start = monotonic_ns()
        return monotonic_ns() - start

    return read


def ours(directory: str, *, attached: bool) -> Callable[[], int]:
    from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

    if attached:
        import_module("opentelemetry.trace")
    instrument(journal_dir=directory)
    case("Benchmark", "empty").__enter__()

    def read() -> int:
        with dispatch():
            pass
        return 0

    return read


def stock() -> Callable[[], int]:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    class Discard(SpanExporter):
        def export(self, spans: object) -> SpanExportResult:  # pyright: ignore[reportIncompatibleMethodOverride]
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Discard()))
    tracer = provider.get_tracer("benchmark")

    def read() -> int:
        with tracer.start_as_current_span("dispatch") as span:
            pass
        return (span.end_time or 0) - (span.start_time or 0)  # type: ignore[attr-defined]

    return read


def measure(way: str) -> None:
    """Print the cost of each repetition in microseconds per dispatch, and the recorded duration of each dispatch."""
    with tempfile.TemporaryDirectory() as directory:
        makers = {
            "bare": bare,
            "ours": lambda: ours(directory, attached=False),
            "ours, context attached": lambda: ours(directory, attached=True),
            "stock SDK": stock,
        }
        read = makers[way]()
        costs: list[float] = []
        readings: list[float] = []
        for _ in range(DISPATCHES):
            read()
        for line in sys.stdin:
            if line.strip() != "go":
                break
            start = perf_counter_ns()
            readings += [read() / 1e3 for _ in range(DISPATCHES)]
            costs.append((perf_counter_ns() - start) / DISPATCHES / 1e3)
            print("done", flush=True)
        if way.startswith("ours"):
            readings = recorded(Path(directory))
    print(json.dumps({"costs": costs, "readings": readings}), flush=True)


def recorded(store: Path) -> list[float]:
    """Return the recorded durations of the dispatches in microseconds, without those before the first repetition."""
    (journal,) = store.glob("*/*.jsonl")
    lines = (json.loads(line) for line in journal.read_text().splitlines())
    return [(line["end"] - line["start"]) / 1e3 for line in lines if line["kind"] == "close"][DISPATCHES:]


def main() -> None:
    """Measure the four ways alternately, one repetition of each at a time, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    if way := parser.parse_args().way:
        measure(way)
        return
    ways = ("bare", "ours", "ours, context attached", "stock SDK")
    running = {
        way: subprocess.Popen(
            [sys.executable, __file__, "--way", way], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for way in ways
    }
    for _ in range(REPETITIONS):
        for process in running.values():
            ask(process, "go")
    found: dict[str, Measured] = {}
    for way, process in running.items():
        found[way] = json.loads(process.communicate("end\n")[0].splitlines()[-1])
    report(found)


def ask(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    print(word, file=process.stdin, flush=True)
    process.stdout.readline()


def report(found: dict[str, Measured]) -> None:
    stock_cost = statistics.median(found["stock SDK"]["costs"])
    print(f"{'':<24}{'cost, us':>10}{'of stock':>10}{'reads p50, us':>15}{'p99':>8}   goal")
    for way, measured in found.items():
        cost = statistics.median(measured["costs"])
        readings = sorted(measured["readings"])
        p50, p99 = readings[len(readings) // 2], readings[len(readings) * 99 // 100]
        goal = GOALS.get(way)
        told = f"at most {goal[0]:.0f} us and {goal[1]}; reads 0.15 and 0.6 us" if goal else ""
        print(f"{way:<24}{cost:>10.2f}{cost / stock_cost:>10.2f}{p50:>15.2f}{p99:>8.2f}   {told}")


if __name__ == "__main__":
    main()
