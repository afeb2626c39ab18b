"""How `scenetest-otel` prints messages, flushes its output and ends by a signal."""

from __future__ import annotations

import os
import resource
import signal
import sys
import textwrap
from typing import NoReturn

import click

from opentelemetry.instrumentation.scenetest.render.plain import plain

PROGRAM = "scenetest-otel"


def say(message: str, who: str = PROGRAM) -> None:
    """Print one sentence on standard error, after the name of the command."""
    tell(f"{who}: {message}")


def tell(line: str) -> None:
    """Print one line on standard error. On a terminal, fold it between words.

    Errors are ignored: a full disk or a closed pipe must not change the exit code.
    """
    if sys.__stderr__ is None:  # the caller has closed it
        return
    try:
        lines = [plain(each) for each in line.split("\n")]
        if sys.stderr.isatty():
            lines = [folded for each in lines for folded in _folded(each)]
        click.echo("\n".join(lines), err=True)
    except OSError:
        discard_output(2)


def _folded(line: str) -> list[str]:
    given = os.environ.get("COLUMNS", "")
    width = int(given) if given.isdigit() else os.get_terminal_size(sys.stderr.fileno()).columns
    return textwrap.wrap(line, width or 80, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) or [
        ""
    ]


def flush() -> None:
    """Flush standard output, if there is one."""
    if sys.__stdout__ is not None:
        sys.__stdout__.flush()


def flush_if_possible() -> None:
    """Flush standard output and ignore errors, for a command whose exit code is that of another command."""
    try:
        flush()
    except OSError:
        discard_output(1)


def discard_output(*streams: int) -> None:
    """Redirect standard streams to /dev/null, so that the interpreter's flush at exit succeeds."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream)
    os.close(nowhere)


def die_by(number: int) -> NoReturn:
    """End this process by a signal, without a core dump, so that its parent sees the signal that killed the command."""
    flush_if_possible()
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    # 1 and not 0: a kernel that pipes its core dumps to a program heeds no limit but this one (core(5)).
    resource.setrlimit(resource.RLIMIT_CORE, (0 if hard == 0 else 1, hard))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    # Process 1 of a container is not killed by its own signals.
    os._exit(128 + number)
