"""A terminal for the command (`--tty`): its output is read from a pty, stored in a file, and shown from there."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import struct
import termios
import tty
from collections.abc import Collection
from contextlib import suppress
from time import monotonic

from opentelemetry.instrumentation.scenetest.runner.follow import Follower, create, send, stop

INTERVAL = 0.05
"""Seconds until a signal is noticed, at most. Output and keys are handled at once."""

# struct winsize for the case that none of our streams is a terminal: rows, columns, and two unused fields.
_DEFAULT_SIZE = struct.pack("HHHH", 24, 80, 0, 0)
_CHUNK = 1 << 16
# Child processes may keep the terminal open and print after the command has ended. Wait this long for them, in seconds.
_REST_IDLE, _REST_LIMIT = 0.05, 1.0


class Terminal:
    """The output of a command as a pty: its stdout and stderr, and its stdin, too, if ours is a terminal.

    Args:
        directory: the run directory, in which `terminal.log` is created.

    Attributes:
        own_session: whether the command gets its own session. It needs one to control the terminal.
        actions: what `posix_spawn` does to the command's descriptors.

    Raises:
        OSError: the file or the pty can't be created.
    """

    own_session = True

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, "terminal.log")
        self._log = create(self._path)
        self._follower = Follower(self._path, 1)
        self._fault: OSError | None = None
        self._master, self._slave = os.openpty()
        os.set_blocking(self._master, False)
        self._keys = b""
        self._listening = os.isatty(0)
        self._ours = termios.tcgetattr(0) if self._listening else None
        # Opening the pty by name in the command's new session makes it the controlling terminal of that session.
        name = os.ttyname(self._slave)
        self.actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_OPEN, 1, name, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        if self._listening:
            self.actions.append((os.POSIX_SPAWN_DUP2, 1, 0))

    def __enter__(self) -> None:
        """Copy the size and settings of our terminal to the pty, and switch ours to raw mode."""
        self._resize()
        if self._ours is not None:
            termios.tcsetattr(self._slave, termios.TCSANOW, self._ours)
            tty.setraw(0, termios.TCSADRAIN)

    def __exit__(self, *_: object) -> None:
        """Store and show the rest after the command has ended, and restore our terminal."""
        os.close(self._slave)
        limit = monotonic() + _REST_LIMIT
        while self._store() and monotonic() < limit and select.select([self._master], [], [], _REST_IDLE)[0]:
            pass
        # Show it before the terminal leaves raw mode, because that changes how line ends are shown.
        self._follower.copy()
        self._give_back()

    def follow(self) -> None:
        """Do nothing: this process reads the pty from the start."""

    def wait(self, signals: Collection[int]) -> signal.struct_siginfo | None:
        """Sleep until the command prints, a key is pressed, or it is time to check for signals again."""
        readers = [self._master, 0] if self._listening and not self._keys else [self._master]
        ready, _, _ = select.select(readers, [self._master] if self._keys else [], [], INTERVAL)
        if 0 in ready:
            self._read_keys()
        if self._keys:
            self._send_keys()
        return signal.sigtimedwait(signals, 0)

    def copy(self) -> None:
        """Store and show what the command has printed since the last call."""
        self._store()
        self._follower.copy()

    def deliver(self, child: int, number: int, *, typed: bool) -> None:
        """Forward a signal to the command. One that was typed goes to the foreground process group of the pty."""
        if number == signal.SIGWINCH:
            self._resize()
        elif number == signal.SIGTSTP:
            self._pause(child)
        elif typed:
            send(-(os.tcgetpgrp(self._master) or child), number)
        else:
            send(child, number)

    def drain(self) -> None:
        """Show the rest, and wait for a slow reader."""
        self._follower.copy(patiently=True)

    def problems(self) -> list[str]:
        """Return a sentence for each thing that could not be stored or shown."""
        problem = self._follower.problem()
        if self._fault is not None:
            problem = f"not all that was printed is in {self._path}: {self._fault.strerror}"
        return [problem] if problem else []

    def _store(self) -> bool:
        """Move the output from the pty to the file, and return whether any process still has the pty open."""
        try:
            printed = os.read(self._master, _CHUNK)
        except OSError as error:
            return error.errno != errno.EIO
        try:
            os.write(self._log, printed)
        except OSError as error:
            self._fault = error
        return True

    def _read_keys(self) -> None:
        try:
            self._keys = os.read(0, _CHUNK)
        except OSError:
            self._keys = b""
        self._listening = bool(self._keys)

    def _send_keys(self) -> None:
        try:
            self._keys = self._keys[os.write(self._master, self._keys) :]
        except BlockingIOError:
            return

    def _pause(self, child: int) -> None:
        # SIGTSTP would be ignored: the kernel doesn't let a terminal stop the process group of a session leader.
        self._give_back()
        send(child, signal.SIGSTOP)
        stop()
        send(child, signal.SIGCONT)
        self.__enter__()

    def _give_back(self) -> None:
        if self._ours is not None:
            with suppress(termios.error):  # it has been closed
                termios.tcsetattr(0, termios.TCSADRAIN, self._ours)

    def _resize(self) -> None:
        size = _DEFAULT_SIZE
        for descriptor in (0, 1, 2):
            if os.isatty(descriptor):
                size = fcntl.ioctl(descriptor, termios.TIOCGWINSZ, bytes(8))
                break
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, size)
