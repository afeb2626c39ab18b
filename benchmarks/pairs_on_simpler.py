"""Whether our instrumentation moves what the harness itself measures, on the real harness.

    python benchmarks/pairs_on_simpler.py HARNESS [--pairs N] [--minutes M] [--store DIR] [-- CMD...]

HARNESS is a checkout of hw-native-sys/simpler that is installed in the environment of this Python, with this package.
Runs of one command take turns: as it is (base), and below `scenetest-otel run` (measure), in the order base, measure,
measure, base. The judge is the harness: of both arms only the log that it writes itself is read, the same way, and
compared as `scenetest-otel compare` does. stderr is a file in both. Started again with the same --store it goes on.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from opentelemetry.instrumentation.scenetest.runner.arms import turn

EXAMPLE = (
    *("python", "examples/a2a3/tensormap_and_ringbuffer/vector_example/test_vector_example.py"),
    *("-p", "a2a3sim", "--manual", "include", "--rounds", "10", "--skip-golden"),
)
PAIRS = 200
OTEL = [sys.executable, "-m", "opentelemetry.instrumentation.scenetest"]


def run(arm: str, number: int, harness: Path, store: Path, command: Sequence[str]) -> Path:
    """Run the command once, and return the log of the harness."""
    label = f"{arm}-{number}"
    if arm == "base":
        # The log alone does not tell its case: that is then called after the file, as that of the other arm is.
        plain = store / "plain" / label
        plain.mkdir(parents=True, exist_ok=True)
        with (plain / "stderr.log").open("wb") as log, (plain / "stdout.log").open("wb") as out:
            subprocess.run(list(command), cwd=harness, env=environment(), stdout=out, stderr=log, check=True)
        return plain / "stderr.log"
    recorded = [*OTEL, "run", "--require-record", "--dir", str(store / "recorded"), "--name", label, "--", *command]
    subprocess.run(recorded, cwd=harness, env=environment(), capture_output=True, check=True)
    return store / "recorded" / label / "stderr.log"


def environment() -> dict[str, str]:
    """Return our environment with the programs of this Python first, and without what would record the base."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {**{key: value for key, value in os.environ.items() if not key.startswith("SCENETEST_")}, "PATH": programs}


def pair(number: int, harness: Path, store: Path, command: Sequence[str]) -> None:
    """Measure one pair, and make of each log a run of its own that holds nothing else."""
    for arm in turn(number):
        log = run(arm, number, harness, store, command)
        ingest = [*OTEL, "ingest", "--dir", str(store / "logs"), f"{arm}-{number}", str(log)]
        subprocess.run(ingest, check=True, stdout=subprocess.DEVNULL)


def main() -> int:
    """Measure the pairs that are missing, then compare all that there are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("harness", type=Path)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--minutes", type=float, help="begin no pair after so many minutes")
    parser.add_argument("--store", type=Path, default=Path("pairs-on-simpler"))
    parser.add_argument("command", nargs="*", default=EXAMPLE)
    asked = parser.parse_args()
    store = asked.store.resolve()
    (store / "logs").mkdir(parents=True, exist_ok=True)
    began = monotonic()
    for number in range(1, asked.pairs + 1):
        if all((store / "logs" / f"{arm}-{number}").is_dir() for arm in turn(number)):
            continue
        if asked.minutes is not None and monotonic() - began > 60 * asked.minutes:
            break
        pair(number, asked.harness, store, asked.command)
        print(f"pair {number}, {monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    options = ["--dir", str(store / "logs"), "--allow", "not-recorded", "--margin", "2"]
    return subprocess.run([*OTEL, "compare", *options, "base-*", "--", "measure-*"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
