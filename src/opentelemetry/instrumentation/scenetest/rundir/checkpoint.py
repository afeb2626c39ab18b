"""How much of a journal a backend has accepted: a small file beside it.

Spans of a journal always come in the same order, so a count of them is an offset. It is written after the backend has
answered. If the process dies in between, the batch is sent again with the same ids.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

from opentelemetry.instrumentation.scenetest.rundir import layout

NATIVE = "native"
"""Stands for a journal's name in the checkpoint of the native spans of a run."""


@dataclass
class Checkpoint:
    """What became of the first spans of a journal.

    Attributes:
        spans: how many are done with.
        rejected: those of them that a backend dropped, by its own count.
        set_aside: those of them that cannot be encoded.
        complete: whether that is all of them, and no more can come.
        size: the size of the journal, in bytes, when its open spans were taken to have ended; else 0.
    """

    spans: int = 0
    rejected: int = 0
    set_aside: int = 0
    complete: bool = False
    size: int = 0


def read(stem: Path) -> Checkpoint:
    """Read a checkpoint; all zero if nothing was sent yet, or if it can't be read."""
    try:
        found = Checkpoint(**json.loads(layout.read_file(stem.with_name(stem.name + layout.CHECKPOINT_SUFFIX))))
    except (OSError, ValueError, TypeError, RecursionError):
        return Checkpoint()
    *counts, complete, size = astuple(found)
    sound = isinstance(complete, bool) and all(
        isinstance(count, int) and 0 <= count <= sys.maxsize for count in (*counts, size)
    )
    return found if sound else Checkpoint()


def has_grown(path: Path) -> bool:
    """Tell whether a journal has grown since its writer was taken for dead.

    It is then sent anew, with the same ids: a span that was delivered as aborted may have ended since.
    """
    size = read(stem(path)).size
    try:
        return 0 < size < path.stat().st_size
    except FileNotFoundError:  # its writer has marked it as incomplete, by another name
        return False


def is_complete(path: Path) -> bool:
    """Tell whether all of a journal was sent, and it has not grown since."""
    return read(stem(path)).complete and not has_grown(path)


def write(stem: Path, done: Checkpoint) -> None:
    """Replace a checkpoint as a whole: nobody ever reads half of it."""
    path = stem.with_name(stem.name + layout.CHECKPOINT_SUFFIX)
    new = path.with_name(path.name + ".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, layout.FILE_MODE)
    with open(descriptor, "w", encoding="ascii") as file:
        json.dump(asdict(done), file)
    new.replace(path)


def forget(stem: Path) -> bool:
    """Have everything sent again, with the same ids; False if nothing was sent yet."""
    try:
        stem.with_name(stem.name + layout.CHECKPOINT_SUFFIX).unlink()
    except FileNotFoundError:
        return False
    return True


def stem(path: Path) -> Path:
    """Return the part of a journal's path that stays when it is marked incomplete."""
    name = path.name.removesuffix(layout.INCOMPLETE_SUFFIX).removesuffix(layout.JOURNAL_SUFFIX)
    return path.with_name(name)
