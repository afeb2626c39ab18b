"""Runs `scenetest-otel run` as users do: in its own process, with captured output or on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import select
import struct
import subprocess
import sys
import termios
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from support.scripts import PREAMBLE, clean_environment

CLI = str(Path(sys.executable).with_name("scenetest-otel"))
IMPATIENCE = 30.0
"""Time limit of a test, in seconds."""


def python(source: str) -> list[str]:
    """Return the command that runs a script in a fresh interpreter."""
    return [sys.executable, "-c", textwrap.dedent(source)]


def recording(source: str) -> list[str]:
    """Return the command for a script that uses our public API. It doesn't call `instrument()`."""
    return [sys.executable, "-c", PREAMBLE + textwrap.dedent(source)]


def run(
    store: Path,
    command: Sequence[str],
    *options: str,
    expect: int = 0,
    timeout: float = IMPATIENCE,
    **how: Any,
) -> subprocess.CompletedProcess[bytes]:
    """Run `scenetest-otel run` with a store and a command, and capture the output."""
    how.setdefault("env", clean_environment())
    how.setdefault("stdin", subprocess.DEVNULL if "input" not in how else None)
    if how["stdin"] is None:
        del how["stdin"]
    call = [CLI, "run", "--dir", str(store), *options, "--", *command]
    done = subprocess.run(call, capture_output=True, timeout=timeout, check=False, **how)
    assert done.returncode == expect, done.stderr.decode()
    return done


def start(store: Path, command: Sequence[str], *options: str, stdin: int | None = None) -> subprocess.Popen[bytes]:
    """Start `scenetest-otel run` with a store and a command, and return the running process."""
    call = [CLI, "run", "--dir", str(store), *options, "--", *command]
    environment = clean_environment()
    return subprocess.Popen(call, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def only_directory(store: Path) -> Path:
    """Return the only run directory of a store."""
    (file,) = store.glob("*/run.json")
    return file.parent


def facts(store: Path) -> dict[str, Any]:
    """Return the `run.json` of the only run."""
    return json.loads((only_directory(store) / "run.json").read_text())


def eventually(happened: Callable[[], bool]) -> None:
    """Wait until a condition is true."""
    deadline = time.monotonic() + IMPATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


class Console:
    """A program on a pseudo-terminal. The test reads its output and presses keys."""

    def __init__(self, command: Sequence[str], *, rows: int = 24, columns: int = 80, stdin: int | None = None) -> None:
        self._master, slave = os.openpty()
        self.resize(rows, columns)
        actions: list[Any] = [(os.POSIX_SPAWN_OPEN, 1, os.ttyname(slave), os.O_RDWR, 0)]
        actions += [(os.POSIX_SPAWN_DUP2, 1, 2), (os.POSIX_SPAWN_DUP2, 1 if stdin is None else stdin, 0)]
        self.pid = os.posix_spawn(command[0], list(command), clean_environment(), file_actions=actions, setsid=True)
        os.close(slave)
        self.seen = b""

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the window."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._master, keys)

    def wait_for(self, text: bytes) -> None:
        """Read until a text appears."""
        deadline = time.monotonic() + IMPATIENCE
        while text not in self.seen:
            assert self._read(deadline), self.seen

    def end(self) -> int:
        """Read to the end, and return the exit code, or the negative number of the signal that killed the program."""
        deadline = time.monotonic() + IMPATIENCE
        while self._read(deadline):
            pass
        os.close(self._master)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def hang_up(self) -> None:
        """Close the terminal, as a broken connection does."""
        os.close(self._master)

    def is_raw(self) -> bool:
        """Return whether the program has switched the terminal to raw mode."""
        return not termios.tcgetattr(self._master)[3] & termios.ICANON

    def _read(self, deadline: float) -> bool:
        assert select.select([self._master], [], [], max(0, deadline - time.monotonic()))[0], self.seen
        try:
            self.seen += os.read(self._master, 1 << 16)
        except OSError:
            return False
        return True
