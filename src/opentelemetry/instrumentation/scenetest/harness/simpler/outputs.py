"""Keeps what the harness captured and would throw away: the native timing markers in the output of passing tests."""

from __future__ import annotations

import os

from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.record.state import state
from opentelemetry.instrumentation.scenetest.rundir import layout

_MARKERS = ("[STRACE] ", "] bind phase=", "[HOSTLOG_DROPS] ")


def save(source: str, text: str) -> None:
    """Append captured output to a log of the run, if there are native markers in it.

    Args:
        source: who captured it; names the log.
        text: the output.
    """
    try:
        if state.directory is not None and any(marker in text for marker in _MARKERS):
            folder = os.path.join(state.directory, layout.LOGS)
            os.makedirs(folder, layout.DIRECTORY_MODE, exist_ok=True)
            log = os.path.join(folder, f"{source}-{os.getpid()}.log")
            with open(log, "ab", opener=layout.private) as file:
                file.write(text.encode("utf-8", "backslashreplace"))
    except Exception as error:
        faults.swallow(f"keep the output that {source} captured", error)
