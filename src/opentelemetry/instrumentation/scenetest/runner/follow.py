"""Shows what a command writes to its files, without ever standing in the command's way.

The command writes to regular files and waits for nobody. This process sleeps, and copies a few times a second.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
from collections.abc import Collection

from opentelemetry.instrumentation.scenetest.rundir import layout

INTERVAL = 0.1
"""Seconds between two looks at the files: soon enough for a reader, and 0.1 % of a CPU."""

# A pipe that is ready takes this much without waiting for its reader (pipe(7)).
_CHUNK = select.PIPE_BUF


def create(path: str) -> int:
    """Make a new log file and return a descriptor that appends to it."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)


class Follower:
    """Copies one growing file to a stream of ours, byte for byte.

    A stream that takes nothing any more, for its reader has left or its disk is full, is given up. The command goes on.

    Args:
        path: the file.
        target: descriptor of the stream.
    """

    def __init__(self, path: str, target: int) -> None:
        self._path = path
        self._target = target
        self._offset = 0
        self._fault: OSError | None = None
        try:
            self._source = os.open(path, os.O_RDONLY)
        except OSError as error:
            self._fault = error

    def copy(self, *, patiently: bool = False) -> None:
        """Copy what the file holds at this moment.

        Args:
            patiently: wait for the stream's reader, rather than leave the rest for the next time.
        """
        if self._fault is not None:
            return
        end = os.fstat(self._source).st_size
        while self._offset < end and self._fault is None:
            if not select.select([], [self._target], [], None if patiently else 0)[1]:
                return
            try:
                self._offset += os.write(self._target, os.pread(self._source, _CHUNK, self._offset))
            except BlockingIOError:
                return
            except OSError as error:
                self._fault = error

    def problem(self) -> str | None:
        """Return a sentence on what could not be shown. That a reader has left (`| head`) is none."""
        if self._fault is None or self._fault.errno == errno.EPIPE:
            return None
        return f"the rest of {self._path} could not be shown: {self._fault.strerror}"


class OutputFiles:
    """The context in which a command runs whose stdout and stderr are two files, shown on ours. Its stdin is ours.

    Args:
        directory: the run directory, in which the files are made.

    Attributes:
        own_session: whether the command gets a session of its own.
        actions: what `posix_spawn` does to the command's descriptors.

    Raises:
        OSError: the files can't be made.
    """

    own_session = False

    def __init__(self, directory: str) -> None:
        self._paths = {1: os.path.join(directory, layout.STDOUT_LOG), 2: os.path.join(directory, layout.STDERR_LOG)}
        self._files = {number: create(path) for number, path in self._paths.items()}
        self.actions = [(os.POSIX_SPAWN_DUP2, file, number) for number, file in self._files.items()]
        self._followers: list[Follower] = []

    def __enter__(self) -> None:
        """There is nothing to prepare."""

    def __exit__(self, *_: object) -> None:
        """There is nothing to give back."""

    def follow(self) -> None:
        """Read the files from now on; the command has them, and we may have few descriptors."""
        for file in self._files.values():
            os.close(file)
        self._followers = [Follower(path, number) for number, path in self._paths.items()]

    def wait(self, signals: Collection[int]) -> signal.struct_siginfo | None:
        """Sleep until a signal comes or it is time to look at the files again."""
        return signal.sigtimedwait(signals, INTERVAL)

    def copy(self) -> None:
        """Show what was written since the last time."""
        for follower in self._followers:
            follower.copy()

    def deliver(self, child: int, number: int, *, typed: bool) -> None:
        """Hand a signal on to the command, unless it was typed: then the terminal gave it to the command, too.

        A terminal that is closed tells the leader of its session only (SIGHUP and SIGCONT).
        """
        if not typed or (number in (signal.SIGHUP, signal.SIGCONT) and os.getsid(0) == os.getpid()):
            send(child, number)
        if number == signal.SIGTSTP:
            stop()

    def drain(self) -> None:
        """Show the rest, after the command has ended, however slow our readers are."""
        for follower in self._followers:
            follower.copy(patiently=True)

    def problems(self) -> list[str]:
        """Return a sentence for each thing that could not be shown."""
        return [problem for follower in self._followers if (problem := follower.problem())]


def send(process: int, number: int) -> None:
    """Send a signal to a process, or to the group of that number if it is negative.

    What has ended needs none, and what we may not signal (sudo) goes without.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


def stop() -> None:
    """Stop this process as Ctrl-Z does, until it is continued."""
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP})
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})
