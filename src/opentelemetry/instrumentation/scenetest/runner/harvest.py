"""Native markers that a run's processes wrote elsewhere than to the run's own files.

A script below `run` may send its stderr to a file of its own and delete that at its end, and newer harnesses write a
`host.<pid>.log` for each process. All this happens in the process of `run`, never in a measured one.
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
    """Keeps hold of the files that measured processes have as their stderr, and copies them into the run at its end.

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
        """Open the stderr of every process that has begun to record since the last time, if it is a regular file.

        A file that is held open can still be read when its name is gone.
        """
        # The command may remove its run, by `git clean` for one, and goes on.
        with suppress(OSError):
            for name in os.listdir(self._directory):
                if layout.is_journal(name) and name not in self._journals:
                    self._journals.add(name)
                    self._hold(name.partition("-")[0])

    def gather(self) -> list[str]:
        """Copy what was written during the run into it.

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
            # It has ended already, or is not ours to look into.
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
    """Move to the first line that was written after a moment; False where there is none."""
    while line := file.readline(_LONGEST_LINE):
        written = _WRITTEN_AT.match(line)
        if written and int(written[1]) >= monotonic:
            file.seek(-len(line), os.SEEK_CUR)
            return True
    return False
