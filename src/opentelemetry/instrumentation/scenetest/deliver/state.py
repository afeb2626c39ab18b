"""The two small files of a delivery in a run directory: who delivers, and how that goes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType

from opentelemetry.instrumentation.scenetest import journal, replay


class Lock:
    """Keeps everybody else from delivering a run. A watcher that became this process holds it already.

    Attributes:
        held: whether this process holds it; else somebody else delivers, or waits for the end of the run to do so.
    """

    def __init__(self, directory: Path) -> None:
        self._descriptor = os.open(directory / journal.DELIVERY_LOCK, os.O_RDWR | os.O_CREAT, journal.FILE_MODE)
        # Where the file system has no locks nobody can be kept out; a span sent twice is still the same span.
        self.held = journal.try_lock(self._descriptor) or journal.is_held(directory / journal.DELIVERY_LOCK) is None

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        os.close(self._descriptor)


def is_measured(directory: Path) -> bool:
    """Tell whether the process that made a run lives: the run goes on, and nothing is sent meanwhile."""
    path = directory / journal.RUN_FILE
    held = journal.is_held(path) if path.exists() else False
    if held is not None:
        return held
    maker = replay.read_facts(directory)
    return maker.get("host") == os.uname().nodename and journal.start_ticks(maker["pid"]) == maker["start_ticks"]


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
    path = directory / journal.DELIVERY_STATE
    new = path.with_suffix(".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, journal.FILE_MODE)
    with open(descriptor, "w", encoding="ascii") as file:
        json.dump({"problem": problem, "accepted": accepted, "to": to}, file)
    new.replace(path)
