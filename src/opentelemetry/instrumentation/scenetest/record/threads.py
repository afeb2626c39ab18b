"""Observes the conditions that differ between the threads of a process.

Linux keeps the allowed CPUs, the scheduling policy and the nice value for each thread, and Python the trace and profile
functions. The main thread's values are recorded for the process. A case or dispatch of another thread records what
differs.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident, get_native_id

from opentelemetry.instrumentation.scenetest import standard_library
from opentelemetry.instrumentation.scenetest.clock import monotonic_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from opentelemetry.instrumentation.scenetest.conditions.values import Value
    from opentelemetry.instrumentation.scenetest.record.session import Session


class Threads:
    """Observes the conditions of single threads of one process.

    Attributes:
        main: identifier of the main thread; 0 before it was first observed.
    """

    __slots__ = ("_found", "main")

    def __init__(self) -> None:
        self.main = 0
        self._found: dict[int, tuple[Any, Mapping[str, Value], dict[str, Value]]] = {}

    def differing(self, of_process: Mapping[str, Value]) -> Mapping[str, Value]:
        """Return the conditions of the calling thread that differ from those of the process.

        Args:
            of_process: the current conditions of the process.
        """
        thread = get_ident()
        if thread == self.main or not of_process:
            return _NONE
        native = get_native_id()
        if native == os.getpid():
            self.main = thread
            return _NONE
        state = (
            os.sched_getaffinity(0),
            os.sched_getscheduler(0),
            os.sched_getparam(0).sched_priority,
            os.getpriority(os.PRIO_PROCESS, 0),
            sys.gettrace() is not None,
            sys.getprofile() is not None,
        )
        known = self._found.get(thread)
        if known is None or known[0] != state or known[1] is not of_process:
            known = self._found[thread] = (state, of_process, _observed(native, of_process))
        return known[2]

    def write_change(self, recording: Session, span: str, before: Mapping[str, Value]) -> None:
        """Write the conditions of the calling thread if they changed since a span of it began.

        Args:
            recording: the session that holds this object.
            span: id of the span.
            before: what `differing` returned when it began.
        """
        now = self.differing(recording.conditions)
        if now is not before and now != before:
            recording.write_line("thread", id=span, at=monotonic_ns(), of_thread=now)


_NONE: Mapping[str, Value] = {}


def _observed(native: int, of_process: Mapping[str, Value]) -> dict[str, Value]:
    with standard_library.imports:
        from opentelemetry.instrumentation.scenetest.conditions import table

        found = table.observe_thread(native)
    return {key: value for key, value in found.items() if of_process.get(key) != value}
