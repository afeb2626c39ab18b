"""A benchmark that sleeps: `FACTOR` makes it slower, `CODE` is its exit code, `ONLY` names a case of its own."""

from __future__ import annotations

import os
import sys
import time

from opentelemetry.instrumentation.scenetest import case, dispatch

print(os.getcwd())
for name in ("default", *os.environ.get("ONLY", "").split()):
    with case("Sleep", name):
        for _ in range(6):
            with dispatch():
                time.sleep(0.002 * float(os.environ.get("FACTOR", "1")))
sys.exit(int(os.environ.get("CODE", "0")))
