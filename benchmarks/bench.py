"""Measures how much the instrumentation disturbs a measurement, compared with the stock SDK and with none.

Run it by `make bench`. The ways are measured in turn, since ratios hold where a machine is shared and absolute times do
not. `--json FILE` keeps the results, `--page FILE` writes them as a page of the documentation.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import inside
from ways import WAYS

HERE = Path(__file__).parent
ROUNDS = 7

_INTRODUCTION = """\
# What the instrumentation costs

`make bench` measures this on your machine and prints the same table. Each figure stands beside no telemetry at all
(`none`) and beside OpenTelemetry's stock SDK (`start_as_current_span`, `BatchSpanProcessor`, OTLP over HTTP to a local
sink). The ways are measured in turn. Compare the ratios: absolute times change with the machine and its load.
"""

_NOTES = """\
## Why a journal is written by `write`, and not mapped into memory

A dispatch writes two lines. On the machine above, measured in one loop of Python:

| step | us |
|---|---:|
| `os.write` of a line | 0.39 to 0.46 |
| the same line copied into a shared mapping of the file | 0.18 to 0.25 |
| `fstat`, to see whether the descriptor is still the journal's | 0.7 to 1.3 |
| `fcntl(F_GETSIG)`, for the mark that an open journal has | 0.17 |

A mapping would save 0.4 us to 0.5 us of a dispatch. It is not used, since a write to it can end the measured process:

- If somebody truncates the file, the next line is a SIGBUS. With `write` it is a line in a shorter file.
- Space that `posix_fallocate` reserved is not always there: a file system that copies on write (btrfs, ZFS), a quota
  and a network file system may refuse it when the page is written. That is a SIGBUS as well. With `write` it is an
  error: the journal is marked as incomplete, and the harness goes on.
- A journal would have a rest of NULs while its process lives, and for ever after SIGKILL. Its size would no longer tell
  others whether it has grown.

`fstat` before each line cost more than both writes. The mark replaced it.

## What the harness of the tests reads with and without us

That harness is Python, and its native runtime is a stand-in in Python. 1 December 2026, 200 pairs:

<!-- not run: it takes five minutes -->

    PYTHONPATH=$PWD/tests/harness python benchmarks/pairs_on_simpler.py tests/harness -- \\
        python scenes/driver.py run --runs 500

| segment | fastest round (95 %) | median round (95 %) | median without us |
|---|---|---|---|
| Host | +1.8 % (+0.9 to +2.7) | +1.3 % (+1.3 to +1.4) | 415 us |
| Device | +1.3 % (+0.3 to +2.3) | +0.7 % (+0.6 to +0.8) | 390 us |
| bind | +35 % (+34 to +36) | +29 % (+28 to +30) | 2.0 us |

So 5 us of 415 us, and 0.6 us of the 2 us of `bind`. It is not a wrapper: `bind` lies inside the native run. It is the
same if no line is written. If 10 us of other Python code run before each dispatch, and nothing of ours, `bind` takes
0.4 us more and Host 4 us more: what runs before a dispatch takes the caches of the CPU, and Python code feels that.
Native code of the real harness does not: [its `bind` is the same within 2 %](benchmarks-on-simpler.md).

## What is not reached

- A dispatch is to cost at most 0.15 of a span of the stock SDK, 0.3 with the context attached. It takes 3.5 us, and
  0.9 us of that are two `write(2)`.
- In a thread other than the main one a dispatch takes 3 us more, since the conditions of the thread are read when it
  opens and when it closes.
- Inside `Worker.run` the hooks on `submit` and `wait` are to add at most 0.3 us. On a busy machine, where caches are
  cold after each run, they add 0.2 us to 0.6 us.
- An empty dispatch is to read as at most twice two bare clock reads. Two clock reads in the two methods of an empty
  Python context manager read as 2.1 times that (p50) and 3 times (p99) on this machine, so nothing of ours is left to
  take away between them.
"""

_SILENT = """
import socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
input()
"""


@dataclass
class Row:
    """One figure of each way.

    Attributes:
        what: what is measured, with its unit.
        values: the median of each way.
        spread: half of the range of each way between its quartiles.
        goal: what it is to be, in words.
    """

    what: str
    values: dict[str, float]
    spread: dict[str, float] = field(default_factory=dict[str, float])
    goal: str = ""

    def ratio(self, way: str) -> float | None:
        """Return the figure as a fraction of the stock SDK's."""
        of = self.values.get("stock SDK")
        return self.values[way] / of if of and way in self.values else None


@contextmanager
def sink() -> Generator[str]:
    """Start a server that accepts every batch, as a collector does, and return its address."""
    command = [sys.executable, str(HERE / "shipping.py"), "--way", "serve"]
    # It would print a traceback for each killed exporter.
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1/traces"
    finally:
        process.kill()
        process.wait()


class Running:
    """One process of `ways.py`."""

    def __init__(self, way: str, store: Path, url: str) -> None:
        command = [sys.executable, str(HERE / "ways.py"), way, str(store), url]
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "SCENETEST_"))}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=kept)

    def ask(self, question: str, *arguments: object) -> Any:
        """Send a question to the process, and return its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([question, *arguments]), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def measured(url: str, rounds: int) -> list[Row]:
    """Measure all ways alternately, and return the rows."""
    rows: list[Row] = []
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        running = {way: stack.enter_context(Running(way, Path(folder, str(i)), url)) for i, way in enumerate(WAYS)}

        def in_turn(
            what: str,
            question: str,
            *arguments: object,
            goal: str = "",
            times: int = rounds,
            ways: Sequence[str] = WAYS,
        ) -> None:
            found: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(times):
                for way in ways:
                    found[way].append(float(running[way].ask(question, *arguments)))
            rows.append(row(what, found, goal))

        begun = {way: process.ask("begun") for way, process in running.items()}
        for kind, goal in (("dispatch", "at most 0.15 of stock, 0.3 with context"), ("phase", ""), ("case", "")):
            for process in running.values():
                process.ask("cost", kind, 500)
            in_turn(f"cost of a {kind}, us", "cost", kind, 200 if kind == "case" else 2000, goal=goal)
        of_looks = "of that the looks at the conditions, us"
        in_turn(of_looks, "looks", 200, goal="at most 150", ways=[way for way in WAYS if way.startswith("ours")])
        readings = {way: process.ask("readings", 20_000) for way, process in running.items()}
        for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0)):
            goal = "" if name == "max" else "at most 2 of two bare clock reads (none)"
            rows.append(Row(f"an empty dispatch reads as, {name}, us", quantiles(readings, share), {}, goal))
        for work, title in (("python", "100 us of Python"), ("gil_free", "1 ms without the GIL")):
            for exported in (0, 512, 50_000):
                taken: dict[str, list[float]] = {way: [] for way in WAYS}
                # Each way exports while its own regions are measured, so the time of the export is included.
                turns = 1 if exported else 20
                for _ in range(turns):
                    for way, process in running.items():
                        taken[way] += process.ask("region", work, 1000 // turns, exported)
                for name, share in (("p50", 0.5), ("p99", 0.99)):
                    goal = "at most 1.05 of none"
                    what = f"{title}, {exported} spans being exported, {name}, us"
                    rows.append(Row(what, quantiles(taken, share), {}, goal))
        in_turn("fork to the end of the child's first dispatch, us", "fork", goal="at most 5000")
        in_turn("garbage collections per 10,000 dispatches", "collections", 20_000, times=1)
        in_turn("memory after 1,000,000 more dispatches, MiB", "growth", 1_000_000, goal="0", times=1)
        for after in ("start", "first case"):
            for what in ("ms", "MiB", "threads", "sockets"):
                rows.append(Row(f"after the {after}: {what}", {way: float(begun[way][after][what]) for way in WAYS}))
    return rows


def inside_run() -> list[Row]:
    """Measure the time that our inner hooks add inside `Worker.run` of the test harness."""
    without, instrumented = inside.compare(inside.HARNESS, list(inside.SCENE), inside.PROCESSES)
    goal = f"at most {inside.GOAL_NS / 1e3} more than none"
    rows: list[Row] = []
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        values = {"none": without, "ours": instrumented}
        of_way = {way: taken / 1e3 for way, taken in quantiles(values, share).items()}
        rows.append(Row(f"inside `Worker.run`, beside `submit` and `wait`, {name}, us", of_way, {}, goal))
    return rows


def shipped() -> list[Row]:
    """Measure the cost of delivering a run, and return the figures of its table."""
    done = subprocess.run([sys.executable, str(HERE / "shipping.py")], check=True, stdout=subprocess.PIPE, text=True)
    cells = {line.split()[0]: line.split() for line in done.stdout.splitlines()[1:]}
    named = {"ours": "ours", "stock": "stock SDK"}
    rows: list[Row] = []
    for what, column, goal in (("CPU s", 1, "at most 1.15 of stock"), ("peak MiB", 3, "at most 100")):
        values = {way: float(cells[name][column]) for name, way in named.items()}
        rows.append(Row(f"delivering 20,000 dispatches, {what}", values, {}, goal))
    return rows


def row(what: str, found: dict[str, list[float]], goal: str) -> Row:
    """Return the medians and spreads of repeated figures."""
    medians = {way: statistics.median(values) for way, values in found.items()}
    return Row(what, medians, {way: _spread(values) for way, values in found.items() if len(values) > 3}, goal)


def _spread(values: Sequence[float]) -> float:
    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / 2


def quantiles(found: Mapping[str, Sequence[float]], share: float) -> dict[str, float]:
    """Return the same quantile of each way's figures."""
    return {way: sorted(values)[min(int(len(values) * share), len(values) - 1)] for way, values in found.items()}


def exits(url: str) -> list[Row]:
    """Measure how long the process that created a run takes to exit, by the behaviour of the backend."""
    program = "\n".join(
        [
            "from opentelemetry.instrumentation.scenetest import case, dispatch, instrument",
            "instrument()",
            "with case('S', 'c'):",
            "    for _ in range(500):",
            "        with dispatch(): pass",
        ]
    )
    rows: list[Row] = []
    silent = subprocess.Popen(
        [sys.executable, "-c", _SILENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert silent.stdout is not None
    backends = {
        "none": "",
        "live": url.removesuffix("/v1/traces"),
        "dead": "http://127.0.0.1:9",
        "silent": f"http://127.0.0.1:{silent.stdout.readline().strip()}",
    }
    times: dict[str, list[float]] = {name: [] for name in backends}
    with tempfile.TemporaryDirectory() as store:
        for _ in range(5):
            for name, address in backends.items():
                env = {**os.environ, "SCENETEST_OTEL_DIR": store, "OTEL_EXPORTER_OTLP_ENDPOINT": address}
                start = time.monotonic()
                subprocess.run([sys.executable, "-c", program], env=env, check=True, capture_output=True)
                times[name].append(time.monotonic() - start)
    silent.kill()
    silent.wait()
    without = statistics.median(times["none"])
    for name in ("live", "dead", "silent"):
        value = statistics.median(times[name]) - without
        rows.append(Row(f"exit with a {name} backend, s more than with none", {"ours": value}))
    return rows


def machine() -> str:
    """Return a line on the machine."""
    facts = (line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines())
    model = next((value.strip() for key, _, value in facts if key.strip() == "model name"), platform.machine())
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} CPUs ({model}), load {load:.1f} at the start, Python {platform.python_version()}"


def lines(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Yield the cells of the table: the median and spread of each way, and ours as a fraction of the stock SDK's."""
    yield ["", *WAYS, "ours / stock", "with context / stock", "goal"]
    for one in rows:
        cells = [_cell(one, way) for way in WAYS]
        ratios = [one.ratio(way) for way in ("ours", "ours, context attached")]
        yield [one.what, *cells, *("" if ratio is None else f"{ratio:.2f}" for ratio in ratios), one.goal]


def _cell(one: Row, way: str) -> str:
    if way not in one.values:
        return ""
    spread = f" +-{one.spread[way]:.2g}" if way in one.spread else ""
    return f"{one.values[way]:.4g}{spread}"


def main() -> None:
    """Measure, print the table and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="Repetitions of each figure.")
    parser.add_argument("--json", type=Path, help="Keep the results in this file.")
    parser.add_argument("--page", type=Path, help="Write the results as a page of the documentation.")
    given = parser.parse_args()
    about = machine()
    with sink() as url:
        rows = [*measured(url, given.rounds), *inside_run(), *exits(url), *shipped()]
    table = list(lines(rows))
    widths = [max(len(cells[column]) for cells in table) for column in range(len(table[0]))]
    print(about)
    for cells in table:
        print(
            "  ".join(
                [
                    cells[0].ljust(widths[0]),
                    *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)),
                ]
            ).rstrip()
        )
    if given.json:
        given.json.write_text(json.dumps({"machine": about, "rows": [asdict(one) for one in rows]}, indent=1) + "\n")
    if given.page:
        given.page.write_text(page(about, table))


def page(about: str, table: Sequence[Sequence[str]]) -> str:
    """Return the results as Markdown."""
    head, *body = table
    rule = f"|---|{'---:|' * (len(head) - 2)}---|"
    rows = [f"| {' | '.join(cells)} |" for cells in body]
    return "\n".join(
        [_INTRODUCTION, f"Last measured on: {about}.", "", f"| {' | '.join(head)} |", rule, *rows, "", _NOTES]
    )


if __name__ == "__main__":
    main()
