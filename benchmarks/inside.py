"""Measures the time that our inner hooks add inside a region that the harness, or our dispatch around it, times.

`Worker.run` of the harness is `submit(...).wait()`, and both are hooked. Probes below our hooks read the clock where
the originals of `run`, `submit` and `wait` begin and end. Between them lie the calls themselves, and our hooks.
What the harness does inside the two, and its threads, are left out: they vary by far more than 0.1 us.

Run it by `python benchmarks/inside.py`, or on the real harness:

    python benchmarks/inside.py --harness CHECKOUT SCRIPT -p a2a3sim --rounds 100
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import statistics
import subprocess
import sys
import tempfile
from functools import wraps
from importlib import import_module
from pathlib import Path
from time import monotonic_ns
from typing import Any

HARNESS = Path(__file__).parents[1] / "tests" / "harness"
SCENE: tuple[str, ...] = ("scenes/test_vector.py", "-p", "a2a3sim", "--rounds", "200")
PROCESSES = 5
GOAL_NS = 300
COLD = 5
"""Runs at the start of a process that are not counted."""


def probe(times: list[int]) -> None:
    """Make the harness's own functions record when they begin and end.

    With their own parameters: our hooks pass on what they know of.
    """
    module: Any = import_module("simpler.worker")
    run, submit, wait = module.Worker.run, module.Worker.submit, module.RunHandle.wait

    @wraps(run)
    def probed_run(self: Any, *args: Any, **keywords: Any) -> Any:
        times.append(monotonic_ns())
        run(self, *args, **keywords)
        times.append(monotonic_ns())

    @wraps(submit)
    def probed_submit(self: Any, callable: Any, args: Any = None, config: Any = None) -> Any:  # noqa: A002
        times.append(monotonic_ns())
        handle = submit(self, callable, args, config)
        times.append(monotonic_ns())
        return handle

    @wraps(wait)
    def probed_wait(self: Any, timeout: float | None = None) -> None:
        times.append(monotonic_ns())
        wait(self, timeout)
        times.append(monotonic_ns())

    module.Worker.run, module.Worker.submit, module.RunHandle.wait = probed_run, probed_submit, probed_wait


def measure(is_instrumented: bool, command: list[str]) -> None:
    """Run a scene, and print the time between the probes for each run, in nanoseconds."""
    times: list[int] = []
    probe(times)
    with tempfile.TemporaryDirectory() as store:
        if is_instrumented:
            from opentelemetry.instrumentation.scenetest import instrument

            instrument(journal_dir=store)
        sys.argv = command
        try:
            runpy.run_path(command[0], run_name="__main__")
        except SystemExit as ended:
            if ended.code:
                raise
    found: list[int] = []
    for at in range(0, len(times) - 5, 6):
        run, submit, submitted, wait, waited, ran = times[at : at + 6]
        found.append((submit - run) + (wait - submitted) + (ran - waited))
    print(f"\n{json.dumps(found[COLD:])}", flush=True)


def compare(harness: Path, command: list[str], processes: int) -> tuple[list[int], list[int]]:
    """Run the scene alternately without and with the instrumentation, and return both results.

    Args:
        harness: the checkout.
        command: a scene in it, with its arguments.
        processes: how many of each.
    """
    path = os.pathsep.join([str(harness), str(harness / "python")])
    env = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "SCENETEST_"))}
    env |= {"PYTHONPATH": path, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    found: dict[str, list[int]] = {"without": [], "with": []}
    for _ in range(processes):
        for way, readings in found.items():
            done = subprocess.run(
                [sys.executable, str(Path(__file__).resolve()), "--way", way, *command],
                cwd=harness,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                check=True,
            )
            readings += json.loads(done.stdout.splitlines()[-1])
    return found["without"], found["with"]


def added(without: list[int], instrumented: list[int], share: float) -> float:
    """Return by how many nanoseconds a quantile is larger with the instrumentation."""
    low, high = (sorted(values)[int(len(values) * share)] for values in (without, instrumented))
    return high - low


def main() -> None:
    """Run the benchmark, or one of its measured processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--harness", type=Path, default=HARNESS, help="The checkout of the harness.")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="Processes of each kind.")
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("command", nargs=argparse.REMAINDER, help="A scene of the harness with its arguments.")
    given = parser.parse_args()
    command: list[str] = given.command or [*SCENE]
    if given.way:
        measure(given.way == "with", command)
        return
    without, instrumented = compare(given.harness, command, given.processes)
    print(f"{len(without)} runs each: ns inside `run`, but neither in `submit` nor in `wait`")
    for name, values in (("without", without), ("with", instrumented)):
        print(f"{name:<8} p50 {statistics.median(values):>7.0f}   p99 {sorted(values)[len(values) * 99 // 100]:>7}")
    print(f"added by the inner hooks, p50: {added(without, instrumented, 0.5):.0f} ns (goal: at most {GOAL_NS})")


if __name__ == "__main__":
    main()
