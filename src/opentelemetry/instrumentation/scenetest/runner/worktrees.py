"""Git worktrees for the arms of an experiment, created before it and removed after it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.runner.arms import Place
from opentelemetry.instrumentation.scenetest.runner.interrupts import Interrupts

_SHOWN_LINES = 20
_END_TIMEOUT = 5.0
"""Seconds that an interrupted setup command has to end."""
_SHORT = 12


@contextmanager
def prepared(
    places: Mapping[str, Place], setup: str | None, keep: bool, tell: Callable[[str], None], interrupts: Interrupts
) -> Generator[None]:
    """Create a worktree for each arm that is a revision, and remove it at the end.

    The worktrees are in the system's temporary directory, outside the checkout. An arm runs in the directory of its
    worktree that corresponds to the working directory.

    Args:
        places: the arms. This sets the directory of those that are a revision.
        setup: a shell command that prepares each worktree, if any.
        keep: whether to keep the worktrees, and report where they are.
        tell: called with a sentence for the user.
        interrupts: the requests to stop.

    Raises:
        BadInputError: a worktree can't be created, or the setup command failed.
        KeyboardInterrupt: the user asked to stop during the setup.
    """
    made: list[Path] = []
    checkout = Path.cwd()
    try:
        for name, place in places.items():
            if place.revision:
                made.append(_make(name, place))
                if setup is not None:
                    _set_up(name, place, setup, tell, interrupts)
        yield
    finally:
        for worktree in made:
            if keep:
                tell(f"kept the worktree {worktree}; to remove it: git worktree remove --force {worktree}")
            else:
                _remove(worktree, checkout)


def _make(name: str, place: Place) -> Path:
    inside = _git("rev-parse", "--show-prefix", cwd=Path.cwd())
    worktree = Path(tempfile.mkdtemp(prefix="scenetest-ab-")) / f"{name}-{place.revision[:_SHORT]}"
    try:
        _git("worktree", "add", "--quiet", "--detach", str(worktree), place.revision, cwd=Path.cwd())
    except BadInputError:
        shutil.rmtree(worktree.parent)
        raise
    place.directory, place.inside = worktree / inside, inside
    if not place.directory.is_dir():
        _remove(worktree, Path.cwd())
        raise BadInputError(f"the {name} can't run here: its revision {place.revision[:_SHORT]} has no {inside}")
    return worktree


def _set_up(name: str, place: Place, setup: str, tell: Callable[[str], None], interrupts: Interrupts) -> None:
    tell(f"preparing the {name} ({place.revision[:_SHORT]}) in {place.directory}: {setup}")
    process = subprocess.Popen(
        ["sh", "-c", setup],
        cwd=place.directory,
        env=place.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        with interrupts.allowed():
            printed, _ = process.communicate()
    except KeyboardInterrupt:
        _end(process)
        raise
    if process.returncode:
        for line in printed.decode("utf-8", "replace").splitlines()[-_SHOWN_LINES:]:
            tell(f"  {line}")
        raise BadInputError(
            f"--setup failed for the {name} with exit code {process.returncode}; its last lines are above"
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a setup command with all its child processes, before its worktree is removed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_TIMEOUT)
    process.wait()


def _remove(worktree: Path, checkout: Path) -> None:
    """Remove a worktree. If git can't, delete the directory and let git forget it."""
    with suppress(BadInputError):
        _git("worktree", "remove", "--force", str(worktree), cwd=checkout)
    shutil.rmtree(worktree.parent, ignore_errors=True)
    with suppress(BadInputError):
        _git("worktree", "prune", cwd=checkout)


def _git(*arguments: str, cwd: Path) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )
    except OSError as error:
        raise BadInputError(f"git can't be run: {error.strerror}") from None
    if done.returncode:
        raise BadInputError(f"git {' '.join(arguments[:2])} failed: {done.stderr.strip()}")
    return done.stdout.strip()
