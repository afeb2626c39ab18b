"""A benchmark that sleeps, and records its directory and `PROGRAM`. `FACTOR` slows it, `CODE` is its exit code."""

from __future__ import annotations

import os
import sys
import time

from opentelemetry.instrumentation.scenetest import case, dispatch

with case("Sleep", "default", factor=1, where=os.getcwd(), program=os.environ.get("PROGRAM", "")):
    for _ in range(4):
        with dispatch():
            time.sleep(0.002 * float(os.environ.get("FACTOR", "1")))
sys.exit(int(os.environ.get("CODE", "0")))
