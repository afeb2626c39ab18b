"""The two small files of a delivery in a run directory: who delivers, and how that goes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType

from opentelemetry.instrumentation.scenetest.rundir import layout, liveness


class Lock:
    """Keeps everybody else from delivering a run. A watcher that became this process has it already.

    Attributes:
        held: whether this process delivers; else another one does, or waits for the end of the run to do so.
    """

    def __init__(self, directory: Path) -> None:
        self._descriptor = liveness.claim(str(directory / layout.DELIVERY_LOCK))
        self.held = self._descriptor is not None

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._descriptor is not None:
            liveness.give_up(self._descriptor)


def is_measured(directory: Path) -> bool:
    """Tell whether the process that made a run lives: the run goes on, and nothing is sent meanwhile."""
    path = directory / layout.RUN_FILE
    return path.exists() and liveness.is_written(path)


def unusable(error: OSError) -> str:
    """Return one sentence on a file of a run that can't be read or written."""
    name = f"{Path(os.fsdecode(error.filename)).name} " if error.filename else "a file of it "
    return f"{name}can't be used: {error.strerror}"


def write(directory: Path, *, problem: str, accepted: int = 0, to: str = "") -> None:
    """Tell the process that made the run how its delivery goes.

    Args:
        directory: the run directory.
        problem: one sentence; empty for none.
        accepted: how many spans a backend has now.
        to: its address.
    """
    path = directory / layout.DELIVERY_STATE
    new = path.with_suffix(".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, layout.FILE_MODE)
    with open(descriptor, "w", encoding="ascii") as file:
        json.dump({"problem": problem, "accepted": accepted, "to": to}, file)
    new.replace(path)
