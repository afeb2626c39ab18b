"""Reads all files of its own run directory repeatedly while it measures."""

import os
import sys
import time
from pathlib import Path

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()
directory = Path(os.environ["SCENETEST_OTEL_RUN"])
with case("S", "c"):
    for _ in range(int(sys.argv[1])):
        with dispatch():
            pass
        for path in directory.rglob("*"):
            path.read_bytes()
        time.sleep(0.02)
    time.sleep(0.5)
    print("measured", flush=True)
