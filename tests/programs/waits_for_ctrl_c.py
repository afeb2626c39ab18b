"""Waits for SIGINT, and prints each one that came in the next 0.4 s."""

from __future__ import annotations

import signal
import time
from types import FrameType

came: list[str] = []


def note(number: int, frame: FrameType | None) -> None:
    """Note a signal."""
    came.append("INT")


signal.signal(signal.SIGINT, note)
print("ready", flush=True)
while not came:
    time.sleep(0.01)
time.sleep(0.4)
print(*came, "end")
