"""Waits for one of the signals in its arguments, prints each one that came in the next 0.4 s, and exits with 7."""

from __future__ import annotations

import signal
import sys
import time

came: list[str] = []
for argument in sys.argv[1:]:
    signal.signal(int(argument), lambda number, _: came.append(signal.Signals(number).name))
print("ready", flush=True)
while not came:
    time.sleep(0.01)
time.sleep(0.4)
print(*came, flush=True)
sys.exit(7)
