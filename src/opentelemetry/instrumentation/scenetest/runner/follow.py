"""Shows what a command writes to its output files, without slowing the command down.

The command writes to regular files, so it never waits for a reader. This process copies them a few times a second.
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
"""Seconds between two reads of the files: fast enough for a reader, and only 0.1 % of a CPU."""

# A pipe that is ready for writing accepts this many bytes without blocking (pipe(7)).
_CHUNK = select.PIPE_BUF


def create(path: str) -> int:
    """Create a log file, and return a descriptor that appends to it."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)


class Follower:
    """Copies one growing file to one of our streams, byte for byte.

    If the stream can't be written any more (its reader has left, or the disk is full), the copying ends. The command
    continues.

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
        """Copy the new contents of the file.

        Args:
            patiently: whether to wait for a slow reader. If not, leave the rest for the next call.
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
        """Return a sentence on what could not be shown. A reader that has left (`| head`) is not a problem."""
        if self._fault is None or self._fault.errno == errno.EPIPE:
            return None
        return f"the rest of {self._path} could not be shown: {self._fault.strerror}"


class OutputFiles:
    """The output of a command as two files, stdout and stderr, which are copied to ours. Its stdin is ours.

    Args:
        directory: the run directory, in which the files are created.

    Attributes:
        own_session: whether the command gets its own session.
        actions: what `posix_spawn` does to the command's descriptors.

    Raises:
        OSError: the files can't be created.
    """

    own_session = False

    def __init__(self, directory: str) -> None:
        self._paths = {1: os.path.join(directory, layout.STDOUT_LOG), 2: os.path.join(directory, layout.STDERR_LOG)}
        self._files = {number: create(path) for number, path in self._paths.items()}
        self.actions = [(os.POSIX_SPAWN_DUP2, file, number) for number, file in self._files.items()]
        self._followers: list[Follower] = []

    def __enter__(self) -> None:
        """Do nothing: the files are ready."""

    def __exit__(self, *_: object) -> None:
        """Do nothing: our own streams were not changed."""

    def follow(self) -> None:
        """Start to read the files, and close our copies of the command's descriptors."""
        for file in self._files.values():
            os.close(file)
        self._followers = [Follower(path, number) for number, path in self._paths.items()]

    def wait(self, signals: Collection[int]) -> signal.struct_siginfo | None:
        """Sleep until a signal arrives or it is time to read the files again."""
        return signal.sigtimedwait(signals, INTERVAL)

    def copy(self) -> None:
        """Show what was written since the last time."""
        for follower in self._followers:
            follower.copy()

    def deliver(self, child: int, number: int, *, typed: bool) -> None:
        """Forward a signal to the command, unless it was typed: then the terminal sent it to the command, too.

        Args:
            child: process id of the command.
            number: the signal.
            typed: whether the terminal sent it. A terminal that is closed sends SIGHUP and SIGCONT only to the leader
                of its session, so the leader forwards these.
        """
        if not typed or (number in (signal.SIGHUP, signal.SIGCONT) and os.getsid(0) == os.getpid()):
            send(child, number)
        if number == signal.SIGTSTP:
            stop()

    def drain(self) -> None:
        """Show the rest after the command has ended, and wait for slow readers."""
        for follower in self._followers:
            follower.copy(patiently=True)

    def problems(self) -> list[str]:
        """Return a sentence for each thing that could not be shown."""
        return [problem for follower in self._followers if (problem := follower.problem())]


def send(process: int, number: int) -> None:
    """Send a signal to a process, or to a process group if the number is negative.

    Processes that have ended, or that we may not signal (sudo), are skipped.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


def stop() -> None:
    """Stop this process as Ctrl-Z does, until it gets SIGCONT."""
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP})
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})
