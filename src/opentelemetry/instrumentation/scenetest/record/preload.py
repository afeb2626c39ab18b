"""Imports before a fork what a process imports late.

A thread that forks while another one imports a module gives its child that module's lock, held for ever: the child
would hang in its own import of the same module. Before the fork an import only waits for the other thread.
"""

from __future__ import annotations

import sys

from opentelemetry.instrumentation.scenetest.record import context, faults

_done: set[str] = set()


def before_fork() -> None:
    """Import everything that recording needs, each part once, and read what every child would read again."""
    try:
        _once("recording", _recording)
        if "simpler" in sys.modules:
            _once("harness", _harness)
        if context.in_use():
            _once("api", _api)
    except Exception as error:
        faults.swallow("prepare for a fork", error)


def _once(part: str, load: object) -> None:
    if part not in _done and callable(load):
        load()
        _done.add(part)


def _recording() -> None:
    import atexit
    import json
    import shlex
    import threading

    from opentelemetry.instrumentation.scenetest import logline
    from opentelemetry.instrumentation.scenetest.record import autoload, decorate, lines, observe, outcomes, outputs

    _ = atexit, json, shlex, threading, logline, decorate, lines, observe, outcomes, outputs
    autoload.installed()


def _harness() -> None:
    from opentelemetry.instrumentation.scenetest.record.simpler import cases, runner, workers

    _ = cases, runner, workers


def _api() -> None:
    from opentelemetry.instrumentation.scenetest.record import live

    _ = live
