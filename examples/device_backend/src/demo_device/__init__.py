"""A device backend that `import torch` loads by itself, as it does torch_npu.

It is what a real one is to a measurement: 0.3 s at import, and from then on a thread that polls its device.
"""

from __future__ import annotations

import threading
import time

ACQUIRE_SECONDS = 0.3
POLL_SECONDS = 0.0005


def autoload() -> None:
    """Acquire the device: the entry point that torch calls near the end of its import."""
    time.sleep(ACQUIRE_SECONDS)
    threading.Thread(target=_poll, name="demo-device", daemon=True).start()


def _poll() -> None:
    while True:
        time.sleep(POLL_SECONDS)
        sum(range(2000))
