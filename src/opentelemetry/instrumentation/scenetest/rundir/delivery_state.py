"""Who delivers a run, and how that goes: the small files of a delivery in a run directory."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from opentelemetry.instrumentation.scenetest.rundir import layout, liveness

_POLL_SECONDS = 0.05


class DeliveryRole:
    """A role that one process at a time has in a run.

    Args:
        directory: the run directory.
        name: the file that stands for the role: `layout.DELIVERY_LOCK` or `layout.PUSH_LOCK`.
        wait: seconds to wait for a process that has it.

    Attributes:
        held: whether this process has the role now. A watcher that became this process had it already.
    """

    def __init__(self, directory: Path, name: str, wait: float = 0) -> None:
        until = time.monotonic() + wait
        while (descriptor := liveness.claim(str(directory / name))) is None and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
        self._descriptor = descriptor
        self.held = descriptor is not None

    def __enter__(self) -> DeliveryRole:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._descriptor is not None:
            liveness.give_up(self._descriptor)


def is_pushed(directory: Path) -> bool:
    """Tell whether a `push` wants to deliver a run, so that a delivery in the background has to end."""
    return is_any_written(directory, [layout.PUSH_LOCK])


def is_any_written(directory: Path, names: Iterable[str]) -> bool:
    """Tell whether the writer of one of these files lives. A file that is gone has none."""
    for name in names:
        with suppress(FileNotFoundError):
            if liveness.is_written(directory / name):
                return True
    return False


def is_measured(directory: Path) -> bool:
    """Tell whether the process that made a run lives: the run goes on, and nothing is sent meanwhile."""
    return is_any_written(directory, [layout.RUN_FILE])


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
