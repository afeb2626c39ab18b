"""Starts one command, forwards signals to it, and waits for its end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from opentelemetry.instrumentation.scenetest.errors import Failure
from opentelemetry.instrumentation.scenetest.exits import Exit

if TYPE_CHECKING:
    from opentelemetry.instrumentation.scenetest.runner.follow import OutputFiles
    from opentelemetry.instrumentation.scenetest.runner.terminal import Terminal

HANDED_ON = frozenset(
    {
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGQUIT,
        signal.SIGTSTP,
        signal.SIGCONT,
        signal.SIGWINCH,
        signal.SIGUSR1,
        signal.SIGUSR2,
    }
)
"""The signals that this process forwards to the command."""


def supervise(
    command: Sequence[str], environment: Mapping[str, str], output: OutputFiles | Terminal, look: Callable[[], None]
) -> int:
    """Run a command to its end.

    Args:
        command: the command with its arguments. It is searched in `PATH`.
        environment: its environment.
        output: where its output goes, and how it is shown.
        look: called a few times a second, after new output was copied.

    Returns:
        Its exit code, or the negative number of the signal that killed it.

    Raises:
        Failure: the command can't be started.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # Signals that this process ignores from its start (nohup) are ignored by the command, too.
    signals = {signal.SIGCHLD, *(number for number in HANDED_ON if signal.getsignal(number) != signal.SIG_IGN)}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        with output:
            child = _spawn(command, environment, output, before)
            output.follow()
            return _wait(child, output, signals, look)
    finally:
        while signal.sigtimedwait(signals, 0):
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _spawn(
    command: Sequence[str], environment: Mapping[str, str], output: OutputFiles | Terminal, mask: Iterable[int]
) -> int:
    try:
        return os.posix_spawnp(
            command[0],
            list(command),
            environment,
            file_actions=output.actions,
            setsid=output.own_session,
            setsigmask=mask,
            # Python ignores these two signals, and the command would inherit that.
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        )
    except FileNotFoundError as error:
        raise Failure(f"no command {command[0]!r}: {error.strerror}", Exit.NOT_FOUND) from error
    except OSError as error:
        raise Failure(f"{command[0]!r} can't be run: {error.strerror}", Exit.NOT_EXECUTABLE) from error


def _wait(child: int, output: OutputFiles | Terminal, signals: set[signal.Signals], look: Callable[[], None]) -> int:
    while True:
        came = output.wait(signals)
        if came is not None and came.si_signo != signal.SIGCHLD:
            # A signal from a program has a code <= 0 (SI_USER). One that was typed comes from the kernel.
            output.deliver(child, came.si_signo, typed=came.si_code > 0)
        output.copy()
        look()
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
