"""Runs of one command in two places that take turns."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from time import monotonic

from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.rundir import layout
from opentelemetry.instrumentation.scenetest.runner import arms
from opentelemetry.instrumentation.scenetest.runner.arms import Place
from opentelemetry.instrumentation.scenetest.runner.interrupts import Interrupts
from opentelemetry.instrumentation.scenetest.sources.arms import read
from opentelemetry.instrumentation.scenetest.sources.stores import is_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import Repetition

# The arm's directory is not on the path of our own interpreter: what lies there must not be imported by it.
_RUN = """
import sys
sys.path[:] = filter(None, sys.path)
from opentelemetry.instrumentation.scenetest.cli import main
main()
"""
_SHOWN_LINES = 10


@dataclass
class Experiment:
    """Runs of both arms, as they are made.

    Attributes:
        places: where each arm runs.
        store: where the runs go.
        name: what their names begin with.
        command: what is run.
        on_progress: takes a sentence after each run.
        interrupts: the requests to stop.
        good: the directories of the runs that did not fail.
        took: how long the runs took, in seconds.
    """

    places: Mapping[str, Place]
    store: Path
    name: str
    command: list[str]
    on_progress: Callable[[str], None]
    interrupts: Interrupts
    good: dict[str, list[Path]] = field(default_factory=lambda: {name: [] for name in arms.NAMES})
    took: list[float] = field(default_factory=list[float])

    def run(self, pair: int, arm: str, left: int) -> None:
        """Make one run, and tell how it went and how much time is left.

        Raises:
            KeyboardInterrupt: we were told to stop; the run has ended by then.
        """
        label = f"{self.name}-{arm}-{pair}"
        directory = self.store / label
        if is_run(directory):
            raise BadInputError(f"{directory} is there already; choose another --name")
        begun = monotonic()
        code = self._wait(label, self.places[arm])
        self.took.append(monotonic() - begun)
        if code == 0:
            self.good[arm].append(directory)
        seconds = fmean(self.took) * (left - 1)
        rest = f", about {int(seconds // 60)}:{int(seconds % 60):02d} left" if left > 1 else ""
        self.on_progress(f"{label}  {self.took[-1]:.1f} s  {'ok' if code == 0 else f'exit {code}: left out'}{rest}")
        if code != 0:
            _show_end(directory, self.on_progress)

    def check_first_pair(self) -> None:
        """Check that both arms could be measured once.

        Raises:
            BadInputError: an arm can't be measured.
        """
        for arm, good in self.good.items():
            if not good:
                raise BadInputError(f"the {arm} failed in its first run: see {self.store / f'{self.name}-{arm}-1'}")

    def read(self, arm: str) -> list[Repetition]:
        """Return what an arm has measured so far."""
        return read(self.good[arm])

    def _wait(self, label: str, place: Place) -> int:
        run = ["run", "--dir", str(self.store), "--name", label, "--", *self.command]
        # In a session of its own: an interrupt, typed or sent to us alone, reaches all of the command by us.
        process = subprocess.Popen(
            [sys.executable, "-c", _RUN, *run],
            cwd=place.directory,
            env=place.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            with self.interrupts.allowed():
                return process.wait()
        except KeyboardInterrupt:
            self._end(process)
            raise

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End a run and all of its command; each further interrupt asks for it with more force."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with suppress(KeyboardInterrupt), self.interrupts.allowed():
                process.wait()
                return


def _show_end(directory: Path, show: Callable[[str], None]) -> None:
    """Show the last lines of what a run that failed has printed."""
    for log in (layout.STDOUT_LOG, layout.STDERR_LOG):
        path = directory / log
        lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
        for line in lines[-_SHOWN_LINES:]:
            show(f"  {log}: {line}")
