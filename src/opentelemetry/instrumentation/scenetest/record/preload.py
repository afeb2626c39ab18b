"""Imports, before a fork, the modules that the child would otherwise import later.

If one thread forks while another imports a module, the child inherits a held import lock that nobody releases. It would
hang as soon as it imports that module. Before the fork, the import only waits for the other thread.
"""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest import destination, faults, standard_library
from opentelemetry.instrumentation.scenetest.record import context
from opentelemetry.instrumentation.scenetest.record.state import state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_done: set[str] = set()


def before_fork() -> None:
    """Import everything that a child needs, each group once, and read the entry points that every child would read."""
    try:
        with standard_library.imports:
            recording()
            _once("fork", _fork)
            harness = state.harness
            if harness is not None and harness.is_loaded():
                _once("harness", harness.import_hooks)
            if context.in_use():
                _once("api", _api)
            if state.directory is not None and destination.has_endpoint():
                _once("watcher", _watcher)
    except Exception as error:
        faults.swallow("prepare for a fork", error)


def recording() -> None:
    """Import what every recording process needs."""
    _once("recording", _recording)


def _once(part: str, load: Callable[[], None]) -> None:
    if part not in _done:
        load()
        _done.add(part)


def _recording() -> None:
    import atexit
    import gc

    from opentelemetry.instrumentation.scenetest.conditions import case, logline
    from opentelemetry.instrumentation.scenetest.record import autoload, observe, outcomes, overhead
    from opentelemetry.instrumentation.scenetest.rundir import lines

    _ = atexit, case, gc, logline, lines, observe, outcomes, overhead
    autoload.installed()


def _fork() -> None:
    import json
    import shlex
    import threading
    import traceback

    from opentelemetry.instrumentation.scenetest.record import decorate

    _ = decorate, json, shlex, threading, traceback


def _api() -> None:
    from opentelemetry.instrumentation.scenetest.record import current_span, live

    _ = current_span, live


def _watcher() -> None:
    import subprocess

    _ = subprocess
