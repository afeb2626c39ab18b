"""Collects native markers that processes of a run wrote to files outside the run directory.

A script may redirect its stderr to its own file and delete that at the end. Newer harnesses write a `host.<pid>.log`
for each process. This module runs in the process of `scenetest-otel run`, never in a measured process.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic_ns, time_ns
from typing import BinaryIO, TypeAlias

from opentelemetry.instrumentation.scenetest.rundir import layout, logs
from opentelemetry.instrumentation.scenetest.runner import checkouts

_Identity: TypeAlias = "tuple[int, int]"

_WRITTEN_AT = re.compile(rb"\[mono_ns=(\d{1,18})\]")
_LONGEST_LINE = 1 << 16


class Harvest:
    """Opens the files that measured processes use as stderr, and copies them into the run at its end.

    Args:
        directory: the run directory.
    """

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)
        self._began = monotonic_ns()
        self._began_unix = time_ns()
        self._journals: set[str] = set()
        self._files: dict[_Identity, tuple[str, BinaryIO]] = {}

    def look(self) -> None:
        """Open the stderr of every process that began to record since the last call, if it is a regular file.

        An open file can still be read after it was deleted.
        """
        # The command may delete its own run directory, for example with `git clean`.
        with suppress(OSError):
            for name in os.listdir(self._directory):
                if layout.is_journal(name) and name not in self._journals:
                    self._journals.add(name)
                    self._hold(name.partition("-")[0])

    def gather(self) -> list[str]:
        """Copy what was written during the run into the run directory.

        Returns:
            A sentence for each log that could not be copied.
        """
        problems: list[str] = []
        for name, file in self._logs():
            try:
                with file:
                    if name.startswith("host.") or _skip_to(file, self._began):
                        logs.add(self._directory, file, name)
            except OSError as error:
                problems.append(f"the native timings of {name} are not in the run: {error.strerror}")
        return problems

    def _hold(self, pid: str) -> None:
        stderr = Path(f"/proc/{pid}/fd/2")
        try:
            found = stderr.stat()
            ours = {_identity(log.stat()) for log in logs.logs_of(self._directory)}
            if stat.S_ISREG(found.st_mode) and _identity(found) not in ours | self._files.keys():
                self._files[_identity(found)] = (f"stderr-{pid}", stderr.open("rb"))
        except OSError:
            # The process has ended, or belongs to another user.
            return

    def _logs(self) -> Iterator[tuple[str, BinaryIO]]:
        yield from self._files.values()
        for root in {os.getcwd(), *checkouts.recorded(self._directory)}:  # where the harness writes its `outputs`
            for log in Path(root, "outputs").glob("*/host.*.log"):
                if log.stat().st_mtime_ns >= self._began_unix:
                    yield log.stem, log.open("rb")


def _identity(of: os.stat_result) -> _Identity:
    return of.st_dev, of.st_ino


def _skip_to(file: BinaryIO, monotonic: int) -> bool:
    """Seek to the first line that was written after a monotonic time; return False if there is none."""
    while line := file.readline(_LONGEST_LINE):
        written = _WRITTEN_AT.match(line)
        if written and int(written[1]) >= monotonic:
            file.seek(-len(line), os.SEEK_CUR)
            return True
    return False
