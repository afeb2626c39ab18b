"""Checks on the real harness whether our instrumentation changes the times that the harness itself measures.

    python benchmarks/pairs_on_simpler.py [--pairs N] [--minutes M] [--measure-only] [--store DIR] HARNESS [-- CMD...]

HARNESS is a checkout of hw-native-sys/simpler that is installed in the environment of this Python, with this package.
Runs of one command take turns: as it is (base), and below `scenetest-otel run` (measure), in the order base, measure,
measure, base. The judge is the harness: of both arms only the log that it writes itself is read, the same way, and
compared as `scenetest-otel compare` does. stderr is a file in both. Started again with the same --store it goes on.
"""

from __future__ import annotations

import argparse
import os
import shutil
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
MARGIN = 2.0
"""Equivalence margin, in percent."""
OTEL = [sys.executable, "-m", "opentelemetry.instrumentation.scenetest"]


def run(arm: str, number: int, harness: Path, store: Path, command: Sequence[str]) -> None:
    """Run the command once."""
    log = log_of(arm, number, store)
    if log.parent.exists():
        shutil.rmtree(log.parent)
    if arm == "base":
        # The log doesn't name its case, so the case gets the name of the file, which must be the same in both arms.
        log.parent.mkdir(parents=True)
        with log.open("wb") as errors, log.with_name("stdout.log").open("wb") as output:
            subprocess.run(list(command), cwd=harness, env=environment(), stdout=output, stderr=errors, check=True)
    else:
        ours = ["run", "--require-record", "--dir", str(log.parent.parent), "--name", log.parent.name]
        recorded = [*OTEL, *ours, "--", *command]
        subprocess.run(recorded, cwd=harness, env=environment(), capture_output=True, check=True)
    log.with_name("done").touch()


def environment() -> dict[str, str]:
    """Return our environment with the programs of this Python first, and without variables that start a recording."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {**{key: value for key, value in os.environ.items() if not key.startswith("SCENETEST_")}, "PATH": programs}


def log_of(arm: str, number: int, store: Path) -> Path:
    """Return the path of the log of a run. If the run is recorded, the log is in the run directory."""
    return store / ("plain" if arm == "base" else "recorded") / f"{arm}-{number}" / "stderr.log"


def is_measured(number: int, store: Path) -> bool:
    """Return whether both runs of a pair exist and succeeded."""
    return all(log_of(arm, number, store).with_name("done").exists() for arm in turn(number))


def judge(pairs: int, store: Path) -> int:
    """Create a run from each log alone, compare the runs, and return the exit code."""
    for number in range(1, pairs + 1):
        for arm in turn(number) if is_measured(number, store) else ():
            if not (store / "logs" / f"{arm}-{number}").is_dir():
                ingest = [*OTEL, "ingest", "--dir", str(store / "logs"), f"{arm}-{number}"]
                subprocess.run([*ingest, str(log_of(arm, number, store))], check=True, stdout=subprocess.DEVNULL)
    options = ["--dir", str(store / "logs"), "--allow", "not-recorded", "--margin", str(MARGIN)]
    return subprocess.run([*OTEL, "compare", *options, "base-*", "--", "measure-*"], check=False).returncode


def main() -> int:
    """Measure the missing pairs, then compare all pairs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("harness", type=Path)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--minutes", type=float, help="begin no pair after so many minutes")
    parser.add_argument("--measure-only", action="store_true", help="compare another time")
    parser.add_argument("--store", type=Path, default=Path("pairs-on-simpler"))
    parser.add_argument("command", nargs="*", default=EXAMPLE)
    asked = parser.parse_args()
    store = asked.store.resolve()
    began = monotonic()
    for number in range(1, asked.pairs + 1):
        if is_measured(number, store):
            continue
        if asked.minutes is not None and monotonic() - began > 60 * asked.minutes:
            break
        for arm in turn(number):
            run(arm, number, asked.harness, store, asked.command)
        print(f"pair {number}, {monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return 0 if asked.measure_only else judge(asked.pairs, store)


if __name__ == "__main__":
    sys.exit(main())
