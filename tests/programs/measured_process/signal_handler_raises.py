"""An exception of the program's signal handler passes through our code."""

from __future__ import annotations

import signal
from typing import Any

from opentelemetry.instrumentation.scenetest import case, instrument


def give_up(*_: object) -> None:
    raise TimeoutError


signal.signal(signal.SIGALRM, give_up)


class Slow:
    def __str__(self) -> str:
        signal.raise_signal(signal.SIGALRM)
        return "slow"


slow: Any = Slow()
instrument()
try:
    with case("S", slow):
        pass
except TimeoutError:
    print("timed out")
