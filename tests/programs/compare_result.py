"""A case with a kernel inside each step. Two more rounds raise at once; the result may be wrong."""

import os
import sys
import time
from contextlib import suppress

from opentelemetry.instrumentation.scenetest import case, dispatch

kernel = dispatch(callable="kernel")

with case("Sleep", "default", size=40):
    for _ in range(4):
        with dispatch(), kernel:
            time.sleep(0.002)
    for _ in range(2):
        with suppress(ValueError), dispatch():
            raise ValueError

if os.environ["WRONG"]:
    sys.exit(os.environ["WRONG"])
