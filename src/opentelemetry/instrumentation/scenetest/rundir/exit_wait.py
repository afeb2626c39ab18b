"""How long a process waits for the delivery of its run when it exits, and what it says if spans are left."""

from __future__ import annotations

import os
import sys

from opentelemetry.instrumentation.scenetest import destination
from opentelemetry.instrumentation.scenetest.clock import monotonic_ns, sleep
from opentelemetry.instrumentation.scenetest.rundir import layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

EXIT_WAIT_VARIABLE, EXIT_WAIT = "SCENETEST_OTEL_EXIT_WAIT", 1.0
"""The environment variable with the number of seconds, and the default."""

_OTLP_TIMEOUT = 10.0
_LONGEST_WAIT = 86_400.0
_POLL = 0.005
_NOTHING_TOLD = {"problem": "not delivered yet", "accepted": 0, "to": ""}


def wait(directory: str) -> None:
    """Wait for the delivery, and say so if spans are left. This process must hold no lock of the run any more."""
    if not destination.has_endpoint() or not layout.journal_names(directory):
        return
    if problem := outcome(directory)["problem"]:
        sys.stderr.write(f"{left(directory, problem)}\n")


def outcome(directory: str, progress: Callable[[], object] = int) -> dict[str, Any]:
    """Wait for a delivery, and return how it ended.

    Args:
        directory: the run directory.
        progress: returns another value whenever the delivery made progress. The time to wait then starts anew.

    Returns:
        The `problem`, empty for none; `accepted`, how many spans, and `to`, the address, once all are delivered.
    """
    import json

    path, patience = os.path.join(directory, layout.DELIVERY_STATE), _patience()
    try:
        reached, deadline = progress(), monotonic_ns() + int(patience * 1e9)
        while not os.path.exists(path) and monotonic_ns() < deadline:
            sleep(_POLL)
            if (now := progress()) != reached:
                reached, deadline = now, monotonic_ns() + int(patience * 1e9)
        told: object = json.loads(layout.read_file(path))
    except (OSError, ValueError, RecursionError):
        told = None
    return {**_NOTHING_TOLD, **told} if isinstance(told, dict) else _NOTHING_TOLD


def left(directory: str, problem: str) -> str:
    """Return the line that the user sees if spans may be left."""
    from shlex import quote

    return f"scenetest-otel: {problem}; to send what is left: scenetest-otel push {quote(directory)}"


def _patience() -> float:
    """Return how many seconds to wait. Pid 1 of a container waits for the OTLP timeout: nothing outlives it."""
    name, default = EXIT_WAIT_VARIABLE, EXIT_WAIT
    if os.getpid() == 1:
        name, default = "OTEL_EXPORTER_OTLP_TIMEOUT", _OTLP_TIMEOUT
    try:
        given = float(os.environ.get(name) or default)
    except ValueError:
        return default
    return min(given, _LONGEST_WAIT) if given >= 0 else default
