"""The logs of a run, and the native spans in them under its dispatches.

A log stays as it was written: its records are read again whenever a run is, so that nothing has to be kept in step.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO, NamedTuple

from opentelemetry.instrumentation.scenetest.conditions.values import Value
from opentelemetry.instrumentation.scenetest.native import strace
from opentelemetry.instrumentation.scenetest.native.place import Native, ProcessWindows, Window, place
from opentelemetry.instrumentation.scenetest.rundir import layout, reader
from opentelemetry.instrumentation.scenetest.rundir.span import Span

RUN_ID = "scenetest.run_id"
"""The attribute of a dispatch that has the harness's own number of it, where its handle had one."""

WORKERS = "scenetest.workers.pids"
"""The attribute of a case, or of a dispatch outside any, with the pids of the workers that its Worker forked."""

_BLOCK = 1 << 20
_CONTENT = re.compile(r"-[0-9a-f]{12}$")
_NOT_ENDED = 2**63 - 1


def logs_of(directory: Path) -> list[Path]:
    """Return the logs of a run: what its command printed, what was saved beside it, what was added later."""
    return sorted([*directory.glob("*.log"), *(directory / layout.LOGS).glob("*.log")])


def name_of(log: Path) -> str:
    """Return what a log was called when it was added."""
    return _CONTENT.sub("", log.stem)


def add(directory: Path, log: BinaryIO, name: str) -> Path | None:
    """Copy a log into a run.

    Args:
        directory: the run directory.
        log: the log, open at its start.
        name: what to call it there.

    Returns:
        Where it is now; None where the run has a log of the same content.

    Raises:
        OSError: it can't be read or written.
    """
    folder = directory / layout.LOGS
    folder.mkdir(mode=layout.DIRECTORY_MODE, exist_ok=True)
    digest = hashlib.sha256()
    with NamedTemporaryFile(dir=folder, delete=False) as copy:
        while block := log.read(_BLOCK):
            digest.update(block)
            copy.write(block)
    # Named by its content, so that adding it again changes nothing.
    content = digest.hexdigest()[:12]
    if any(folder.glob(f"*-{content}.log")):
        os.unlink(copy.name)
        return None
    return Path(copy.name).rename(folder / f"{name}-{content}.log")


class Owner(NamedTuple):
    """The dispatch or case under which native spans stand, and its process."""

    process: reader.Process
    span: Span


def native(directory: Path, recorded: Iterable[tuple[reader.Process, Iterable[Span]]]) -> Native[Owner]:
    """Return the native records in the logs of a run, each under the dispatch or case that contains it.

    Args:
        directory: the run directory.
        recorded: the processes of the run with their spans.
    """
    logs = logs_of(directory)
    # A run without logs, perhaps of a million dispatches, has nothing to place.
    windows = [_windows(process, list(spans)) for process, spans in recorded] if logs else []
    return place(_records(logs), windows)


def _records(logs: Iterable[Path]) -> Iterator[strace.Record]:
    for log in logs:
        with log.open("rb") as file:
            yield from strace.read(file)


def _windows(process: reader.Process, spans: Sequence[Span]) -> ProcessWindows[Owner]:
    return ProcessWindows(
        process.pid,
        process.facts.get("parent_pid"),
        [_window(process, span) for span in spans if span.kind == "dispatch"],
        [_window(process, span) for span in spans if span.kind == "case"],
        process.unix_ns(0),
        frozenset(int(pid) for span in spans for pid in _words(span.attributes.get(WORKERS)) if pid.isdigit()),
    )


def _words(value: Value | None) -> list[str]:
    return str(value or "").split(",")


def _window(process: reader.Process, span: Span) -> Window[Owner]:
    """What never returned goes on: nothing of its process came after it."""
    run_id = span.attributes.get(RUN_ID)
    end_ns = _NOT_ENDED if span.end_ns is None else span.end_ns
    return Window(Owner(process, span), span.start_ns, end_ns, run_id if isinstance(run_id, int) else None)
