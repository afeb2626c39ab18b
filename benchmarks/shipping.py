"""Measures the cost of delivering a run from its journals, compared with the stock exporter for spans in memory.

Both send the same spans over HTTP, in batches of the same size, to one server that takes everything. Each runs in a
process of its own, in turn, since ratios hold on a shared machine. CPU seconds, without the imports.

With `--growth` it delivers and exports runs of more and more dispatches instead, and prints the peak of memory: it must
not grow with the run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path

from opentelemetry.instrumentation.scenetest.deliver.spans import BATCH

REPETITIONS = 5
GROWTH = (10_000, 100_000, 1_000_000)
RECORD = """
from opentelemetry.instrumentation.scenetest.rundir import run_file
from opentelemetry.instrumentation.scenetest import case, dispatch, instrument
instrument(journal_dir={store!r})
# As many attributes as the harness's cases have.
how = dict(
    level=2, platform="a2a3sim", runtime="tensormap_and_ringbuffer", devices="0", forked_workers=0, rounds=100,
    aicpu_threads=0, golden_skipped=True, diagnostics="off", sanitizer="none", sdma=False, prewarm=False,
)
how |= {{"ring.task_window": "0", "ring.heap": "0", "ring.dep_pool": "0"}}
with case("Benchmark", "empty", **how):
    for _ in range({count}):
        with dispatch():
            pass
"""


class Taker(BaseHTTPRequestHandler):
    """Accepts every batch with an empty answer, as a collector does."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Take one batch."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""


def serve() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Taker)
    print(server.server_port, flush=True)
    server.serve_forever()


def ours(run: Path, url: str) -> float:
    from opentelemetry.instrumentation.scenetest.deliver import delivery
    from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
    from opentelemetry.instrumentation.scenetest.rundir import run_file

    for left in [*run.glob("*.ack"), *run.glob("delivery.json")]:
        left.unlink()
    exporter = delivery.exporter_for(Endpoint(url, "http/protobuf", 10))
    start = time.process_time()
    tally = delivery.Delivery(run, run_file.read(run), exporter, 10).deliver()
    spent = time.process_time() - start
    assert tally.accepted > BATCH, tally
    return spent


def stock(run: Path, url: str) -> float:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan

    from opentelemetry.instrumentation.scenetest.deliver import spans
    from opentelemetry.instrumentation.scenetest.rundir import run_file

    plain: Resource | None = None
    built: list[ReadableSpan] = []
    for span in spans.of_run(run, run_file.read(run)):
        plain = plain or Resource(span.resource.attributes)
        built.append(
            ReadableSpan(
                name=span.name,
                context=span.context,
                parent=span.parent,
                resource=plain,
                attributes=span.attributes,
                status=span.status,
                start_time=span.start_time,
                end_time=span.end_time,
                instrumentation_scope=span.instrumentation_scope,
            )
        )
    exporter = OTLPSpanExporter(endpoint=url)
    everything = iter(built)
    start = time.process_time()
    while batch := list(islice(everything, BATCH)):
        exporter.export(batch)
    return time.process_time() - start


def export(run: Path, url: str) -> float:
    from opentelemetry.instrumentation.scenetest.render import otlp_file
    from opentelemetry.instrumentation.scenetest.rundir import run_file

    start = time.process_time()
    with open(os.devnull, "w", encoding="ascii") as stream:
        assert otlp_file.write(run, run_file.read(run), stream) > BATCH
    return time.process_time() - start


WAYS = {"ours": ours, "stock": stock, "export": export}


def main() -> None:
    """Record one run, deliver it in both ways alternately, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=20_000)
    parser.add_argument("--growth", action="store_true", help="how memory grows with the run")
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way == "serve":
        serve()
    elif given.way:
        spent = WAYS[given.way](given.run, given.url)
        print(json.dumps([spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
    elif given.growth:
        grow()
    else:
        compare(given.spans)


@contextmanager
def recorded(count: int) -> Generator[Path]:
    """Record a run with a given number of dispatches."""
    with tempfile.TemporaryDirectory() as store:
        subprocess.run([sys.executable, "-c", RECORD.format(store=store, count=count)], check=True)
        (run,) = Path(store).iterdir()
        yield run


@contextmanager
def server() -> Generator[str]:
    """Start a server that accepts everything, and return its address."""
    command = [sys.executable, __file__, "--way", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1/traces"
        finally:
            process.kill()


def measured(way: str, run: Path, url: str) -> list[float]:
    """Return the CPU time in seconds and the peak memory in MiB of one way, in its own process."""
    command = [sys.executable, __file__, "--way", way, "--run", str(run), "--url", url]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def grow() -> None:
    first: dict[str, float] = {}
    print("dispatches   way         CPU s   us each   peak MiB   of the first   goal")
    with server() as url:
        for count in GROWTH:
            with recorded(count) as run:
                for way, name in (("ours", "deliver"), ("export", "export")):
                    spent, peak = measured(way, run, url)
                    ratio = peak / first.setdefault(way, peak)
                    each = spent / count * 1e6
                    print(f"{count:>10}   {name:<8}{spent:>9.1f}{each:>10.1f}{peak:>11.0f}{ratio:>15.2f}   at most 1.1")


def compare(count: int) -> None:
    found: dict[str, list[list[float]]] = {"ours": [], "stock": []}
    with recorded(count) as run, server() as url:
        for _ in range(REPETITIONS):
            for way, results in found.items():
                results.append(measured(way, run, url))
    medians = {way: statistics.median(seconds for seconds, _ in results) for way, results in found.items()}
    print(f"{count} dispatches      CPU s   of stock   peak MiB   goal")
    for way, results in found.items():
        goal = "at most 1.15 of stock and 100 MiB" if way == "ours" else ""
        peak = max(mebibytes for _, mebibytes in results)
        print(f"{way:<18}{medians[way]:>9.2f}{medians[way] / medians['stock']:>11.2f}{peak:>11.0f}   {goal}")


if __name__ == "__main__":
    main()
