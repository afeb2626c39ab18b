"""pytest items as cases: a test that dispatches outside a SceneTestCase becomes a case named after its node id."""

from __future__ import annotations

import os
from _thread import get_ident

from opentelemetry.instrumentation.scenetest.harness.simpler import facts
from opentelemetry.instrumentation.scenetest.record import noted, recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Item:
    """One running item."""

    def __init__(self, nodeid: str) -> None:
        self._suite, _, self._name = nodeid.rpartition("::")
        self._pid, self._thread = os.getpid(), get_ident()
        self._case: recorder.case | None = None

    def begin_case(self, worker: Any) -> bool:
        # A forked child must not open a case: the item belongs to the parent.
        if self._case is not None or os.getpid() != self._pid:
            return False
        attributes: dict[str, Any] = facts.of_worker(worker)
        self._case = recorder.case(self._suite, self._name, **attributes)
        self._case.__enter__()
        noted.give(self._case, self._thread)
        return True

    def end(self) -> None:
        if self._case is not None:
            self._case.__exit__(None, None, None)


_running: list[_Item] = []
"""The running items. An item may run others in this process, as tests that use pytester do."""


def start(nodeid: str) -> None:
    """Note that an item runs. Its case opens at its first dispatch outside any case."""
    _running.append(_Item(nodeid))


def end() -> None:
    """End the item that started last, and its case if it has one."""
    _running.pop().end()


def begin_case(worker: Any) -> bool:
    """Open the case of the running item, once.

    Args:
        worker: the Worker that dispatches.

    Returns:
        Whether this call opened it.
    """
    return bool(_running) and _running[-1].begin_case(worker)
