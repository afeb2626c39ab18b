"""An object that is entered in two threads measures each thread separately."""

from __future__ import annotations

import threading

from opentelemetry.instrumentation.scenetest import dispatch, instrument

instrument()
shared, entered, left = dispatch(), threading.Event(), threading.Event()


def within() -> None:
    with shared:
        entered.set()
        left.wait()


thread = threading.Thread(target=within)
with shared:
    thread.start()
    entered.wait()
left.set()
thread.join()
