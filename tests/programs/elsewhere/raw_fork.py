"""A forked child and its own child dispatch inside the case and after leaving it. A thread forks, too."""

from __future__ import annotations

import os
import threading

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument


def once() -> None:
    with dispatch():
        pass


def forks() -> None:
    child = os.fork()
    if child == 0:
        once()
        os._exit(0)
    os.waitpid(child, 0)


instrument()
with case("S", "c"):
    once()
    forker = threading.Thread(target=forks)
    forker.start()
    forker.join()
    child = os.fork()
    if child == 0:
        once()
        forks()
    else:
        os.waitpid(child, 0)
if child == 0:
    once()
    os._exit(0)
