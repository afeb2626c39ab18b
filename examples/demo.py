"""Demo: runs one benchmark with torch's backend autoload on and off, shows both runs, and compares them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent
COMMAND = Path(sys.executable).with_name("scenetest-otel")
VARIABLE = "TORCH_DEVICE_BACKEND_AUTOLOAD"


def step(told: str, *command: str, env: dict[str, str] | None = None, expect: int = 0) -> None:
    """Print what a command does and why, run it, and stop if its exit code is not the expected one."""
    shown = " ".join(f"{key}={value}" for key, value in (env or {}).items() if key == VARIABLE)
    print(f"\n# {told}\n$ {shown}{' ' if shown else ''}scenetest-otel {' '.join(command)}", flush=True)
    environment = {**os.environ, **(env or {})}
    done = subprocess.run([str(COMMAND), *command], env=environment, stderr=subprocess.STDOUT, check=False)
    if done.returncode != expect:
        sys.exit(f"{command[0]} ended with {done.returncode} and not {expect}")


def experiments(benchmark: tuple[str, ...]) -> None:
    """Measure the cost of the autoload, compare two arms that differ by 30 %, and two that can't be compared."""
    step(
        "What does autoload cost? Off in the base, on in the measure.", "ab", "--autoload", "--name", "cost", *benchmark
    )
    off = ("--arm", f"base:{VARIABLE}=0", "--arm", f"measure:{VARIABLE}=0")
    more = ("--arm", "measure:PRODUCTS=13", "--find", "20", "--max-pairs", "12")
    step("30 % more work, measured until 20 % would be found.", "ab", "--name", "more", *off, *more, *benchmark)
    on = (*off[:2], "--arm", f"measure:{VARIABLE}=1")
    step("Two rulers: it stops before anything is compared.", "ab", "--name", "rulers", *on, *benchmark, expect=4)


def main() -> None:
    """Record two runs that differ only in the variable, in a temporary store."""
    backend = Path(sys.prefix) / "demo-device"
    benchmark = ("--", "python", "matmul.py", "--rounds", "30")
    os.environ.pop(VARIABLE, None)
    os.environ["PATH"] = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    os.chdir(EXAMPLES)
    with tempfile.TemporaryDirectory(prefix="scenetest-demo-") as store:
        os.environ.update(PYTHONPATH=str(backend), SCENETEST_OTEL_DIR=store)
        step("A device backend is installed, and `import torch` loads it unasked.", "run", "--name", "on", *benchmark)
        step("The same command, autoload off.", "run", "--name", "off", *benchmark, env={VARIABLE: "0"})
        step("Any time later, by name: every condition, and how it was observed.", "show", "off", "--conditions")
        step(
            "For other tools: OTLP, or a trace for ui.perfetto.dev.",
            "export",
            "on",
            "--format",
            "perfetto",
            "-o",
            f"{store}/on.json",
        )
        experiments(benchmark)
    print("\nTwo numbers of two rulers, and each says which. Your own: scenetest-otel run -- python your_benchmark.py")


if __name__ == "__main__":
    main()
