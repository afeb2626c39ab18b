"""A benchmark whose process is killed in its seventh dispatch. The record shows everything up to that moment."""

from __future__ import annotations

import os
import signal

from opentelemetry.instrumentation.scenetest import case, dispatch

with case("Demo", "dies", rounds=10):
    for number in range(10):
        with dispatch():
            if number == 6:
                os.kill(os.getpid(), signal.SIGKILL)
