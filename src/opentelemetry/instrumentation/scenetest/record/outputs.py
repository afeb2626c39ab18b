"""Keeps what the harness captured and would throw away: the native timing markers in the output of passing tests."""

from __future__ import annotations

import os

from opentelemetry.instrumentation.scenetest import journal
from opentelemetry.instrumentation.scenetest.record import faults, session

_MARKERS = ("[STRACE] ", "] bind phase=", "[HOSTLOG_DROPS] ")


def save(source: str, text: str) -> None:
    """Append captured output to a log of the run, if there are native markers in it.

    Args:
        source: who captured it; names the log.
        text: the output.
    """
    try:
        if session.directory is not None and any(marker in text for marker in _MARKERS):
            folder = os.path.join(session.directory, journal.LOGS)
            os.makedirs(folder, journal.DIRECTORY_MODE, exist_ok=True)
            log = os.path.join(folder, f"{source}-{os.getpid()}.log")
            with open(log, "ab", opener=journal.private) as file:
                file.write(text.encode("utf-8", "backslashreplace"))
    except Exception as error:
        faults.swallow(f"keep the output that {source} captured", error)
