"""Measures the time and memory of `show`, `compare`, `report` and the end of `run` for large runs.

    python benchmarks/reading.py [--dispatches N] [--runs N]

The runs are recorded by our own recorder with an empty callee, so that a million dispatches take some seconds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from opentelemetry.instrumentation.scenetest.runner.arms import turn

DISPATCHES = 1_000_000
RUNS = 8
OTEL = (sys.executable, "-m", "opentelemetry.instrumentation.scenetest")
PROGRAM = """
import sys
from opentelemetry.instrumentation.scenetest import case, dispatch, instrument
instrument()
with case("Benchmark", "empty", level=2, platform="a2a3sim", runtime="tensormap_and_ringbuffer"):
    for _ in range(int(sys.argv[1])):
        with dispatch():
            pass
"""


def timed(command: Sequence[str], store: Path) -> tuple[float, float, int]:
    """Run a command, and return its time in seconds, its peak memory in MiB, and its exit code."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "SCENETEST_"))}
    env["SCENETEST_OTEL_DIR"] = str(store)
    start = time.monotonic()
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - start, used.ru_maxrss / 1024, process.returncode


def line(what: str, seconds: float, mebibytes: float, goal: str) -> None:
    """Print one line of the table."""
    print(f"{what:<44}{seconds:>8.1f} s{mebibytes:>8.0f} MiB   {goal}", flush=True)


def main() -> None:
    """Record the runs, read them in each way, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dispatches", type=int, default=DISPATCHES)
    parser.add_argument(
        "--runs", type=int, default=RUNS, help="Runs that `compare` reads; 0 for `show` and `run` alone."
    )
    given = parser.parse_args()
    program = [sys.executable, "-c", PROGRAM, str(given.dispatches)]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder)
        alone, _, code = timed(program, store / "alone")
        assert code == 0
        print(f"{given.dispatches} dispatches a run, recorded in {alone:.1f} s")
        names = [f"{arm}-{pair + 1}" for pair in range(given.runs // 2) for arm in turn(pair + 1)] or ["base-1"]
        for name in names:
            seconds, most, code = timed([*OTEL, "run", "--name", name, "--", *program], store)
            assert code == 0
            if name == names[0]:
                line("run: its own part, to the prompt", seconds - alone, most, "at most 8 s and 250 MiB")
        line("show", *timed([*OTEL, "show", names[0]], store)[:2], "at most 8 s and 250 MiB")
        if given.runs < 2:
            return
        compared = ["base-*", "--", "measure-*"]
        line(f"compare of {given.runs}", *timed([*OTEL, "compare", *compared], store)[:2], "at most 60 s and 1024 MiB")
        page = store / "page.html"
        seconds, most, code = timed([*OTEL, "report", "--output", str(page), *compared], store)
        line("report, all runs", seconds, most, f"{page.stat().st_size / 1e6:.1f} MB of page" if page.exists() else "")


if __name__ == "__main__":
    main()
