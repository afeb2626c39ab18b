"""Replaces the clock as time-freezing libraries do: in `time`, and in every module that has imported its functions."""

import sys
import time
from typing import Any

FROZEN_NS = 1_000_000_000_000_000_000
FAKES: dict[int, Any] = {
    id(time.monotonic_ns): lambda: FROZEN_NS,
    id(time.monotonic): lambda: FROZEN_NS / 1e9,
    id(time.time_ns): lambda: FROZEN_NS,
    id(time.time): lambda: FROZEN_NS / 1e9,
    id(time.perf_counter_ns): lambda: FROZEN_NS,
    id(time.perf_counter): lambda: FROZEN_NS / 1e9,
}
sleep = time.sleep


def freeze() -> None:
    """Replace it."""
    for module in list(sys.modules.values()):
        for name, value in list(vars(module).items()):
            if id(value) in FAKES and module.__name__ != __name__:
                setattr(module, name, FAKES[id(value)])


if "before" in sys.argv:
    freeze()

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument  # noqa: E402

instrument()
if "after" in sys.argv:
    freeze()
with case("S", "c"):
    if "within" in sys.argv:
        freeze()
    for _ in range(3):
        with dispatch():
            sleep(0.01)
