"""Measures how fast the native markers of a log are read, compared with `grep -c STRACE` on the same file.

python benchmarks/strace.py [LOG] [--megabytes N]
"""

import argparse
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from pathlib import Path

from opentelemetry.instrumentation.scenetest.native.markers import Unreadable
from opentelemetry.instrumentation.scenetest.native.place import place
from opentelemetry.instrumentation.scenetest.native.strace import read

LOG = Path(__file__).parent.parent / "tests" / "data" / "native" / "l3-two-devices.log"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("log", nargs="?", type=Path, default=LOG, help="repeated to the size asked for")
    arguments.add_argument("--megabytes", type=int, default=20)
    options = arguments.parse_args()
    once: bytes = options.log.read_bytes()
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        for repetition in range(max(1, options.megabytes * 1_000_000 // len(once))):
            log.write(once.replace(b" inv=", b" inv=%d" % repetition))  # so that no record is a repeated one
        log.flush()
        size = Path(log.name).stat().st_size / 1e6

        start = time.perf_counter()
        grep = subprocess.run(["grep", "-c", "STRACE", log.name], capture_output=True, text=True, check=True)
        _report("grep -c STRACE", size, time.perf_counter() - start, f"{grep.stdout.strip()} lines")

        start = time.perf_counter()
        with open(log.name, "rb") as file:
            kinds = Counter(type(record) for record in read(file))
        note = f"{sum(kinds.values())} records, {kinds[Unreadable]} unreadable"
        _report("read", size, time.perf_counter() - start, note)

        start = time.perf_counter()
        with open(log.name, "rb") as file:
            counts = place(read(file), []).counts
        _report(
            "read and place", size, time.perf_counter() - start, f"{counts.seen} records, {counts.repeated} repeated"
        )

        tracemalloc.start()
        with open(log.name, "rb") as file:
            for _ in read(file):
                pass
        sys.stdout.write(f"{'read, peak memory':<18}{tracemalloc.get_traced_memory()[1] / 1e6:8.1f} MB\n")
    return 0


def _report(what: str, megabytes: float, seconds: float, note: str) -> None:
    sys.stdout.write(f"{what:<18}{megabytes / seconds:8.0f} MB/s   {note}\n")


if __name__ == "__main__":
    sys.exit(main())
