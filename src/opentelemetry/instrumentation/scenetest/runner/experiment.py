"""Alternates the runs of one command between two arms."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from time import monotonic, sleep
from typing import Any

from opentelemetry.instrumentation.scenetest import masking
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.render.durations import clock
from opentelemetry.instrumentation.scenetest.rundir import delivery_state, layout, run_file
from opentelemetry.instrumentation.scenetest.runner import arm_facts, arms, checkouts
from opentelemetry.instrumentation.scenetest.runner.arms import Place
from opentelemetry.instrumentation.scenetest.runner.interrupts import Interrupts
from opentelemetry.instrumentation.scenetest.sources.arms import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import Repetition

# Remove the arm's directory from `sys.path`, so that our own interpreter doesn't import modules from there.
_RUN = """
import sys
sys.path[:] = filter(None, sys.path)
from opentelemetry.instrumentation.scenetest.cli import main
main()
"""
_SHOWN_LINES = 10
_WARM_UP = "warm-up"
_FAILURES = 3
"""After this many failures in a row, an arm counts as broken."""
_LOOK_SECONDS = 0.2


@dataclass
class Experiment:
    """The runs of both arms.

    Attributes:
        places: where each arm runs.
        store: the store of the runs.
        name: prefix of the names of the runs.
        command: the command.
        on_progress: called with a sentence after each run.
        interrupts: the requests to stop.
        setup: the command that prepared the arms that are git revisions.
        resumes: whether existing runs of that name are used instead of being made again.
        good: the directories of the successful runs, by arm.
        warm: the directory of each arm's warm-up run.
        made: number of runs made now, without the warm-up.
        took: durations of the runs, in seconds.
    """

    places: Mapping[str, Place]
    store: Path
    name: str
    command: list[str]
    on_progress: Callable[[str], None]
    interrupts: Interrupts
    setup: str | None = None
    resumes: bool = False
    good: dict[str, list[Path]] = field(default_factory=lambda: {name: [] for name in arms.NAMES})
    warm: dict[str, Path] = field(default_factory=dict[str, Path])
    made: int = 0
    took: list[float] = field(default_factory=list[float])
    _began: float = field(default_factory=monotonic)
    _arms: dict[str, dict[str, str]] = field(default_factory=dict[str, "dict[str, str]"])
    _clocks: dict[str, int] = field(default_factory=dict[str, int])
    _failures: dict[str, int] = field(default_factory=lambda: dict.fromkeys(arms.NAMES, 0))
    _read: dict[Path, list[Repetition]] = field(default_factory=dict[Path, "list[Repetition]"])

    @property
    def elapsed(self) -> float:
        """Seconds since the experiment began."""
        return monotonic() - self._began

    @property
    def pair_seconds(self) -> float:
        """Mean duration of a pair in seconds; 0 before the first run."""
        return 2 * fmean(self.took) if self.took else 0.0

    @property
    def has_both(self) -> bool:
        """Whether each arm has a successful run."""
        return all(self.good.values())

    @property
    def broken(self) -> str:
        """The arm that failed several times in a row; "" if none did."""
        return next((arm for arm, number in self._failures.items() if number >= _FAILURES), "")

    def warm_up(self) -> None:
        """Run each arm once without counting it, to fill the kernel's caches and write Python's bytecode files.

        Raises:
            BadInputError: a run fails, or an arm ran the harness of the other arm.
        """
        for arm in arms.NAMES:
            directory = self._directory(f"{self.name}-{_WARM_UP}-{arm}")
            self.warm[arm] = directory
            code, seconds = self._make(directory, arm)
            self.on_progress(f"{directory.name}  {seconds:.1f} s  warm-up, not counted")
            if code != 0:
                _show_end(directory, self.on_progress)
                raise BadInputError(f"the {arm} failed in its warm-up run with exit code {code}{_see(directory)}")
        self._check_harness(self.warm)

    def pair(self, number: int, left: int | None = None) -> None:
        """Make both runs of a pair, except those that already exist.

        Args:
            number: the number of the pair, from 1.
            left: number of pairs still to make, including this one; None if unknown.

        Raises:
            BadInputError: a run of the first pair failed, or an arm ran the harness of the other arm.
            KeyboardInterrupt: the user asked to stop. The run has ended.
        """
        for place, arm in enumerate(arms.turn(number)):
            self._run(number, arm, None if left is None else 2 * left - place - 1)
        if number == 1:
            for arm, good in self.good.items():
                if not good:
                    raise BadInputError(f"the {arm} failed in its first run{_see(self._newest(1, arm))}")
            self._check_harness({arm: good[0] for arm, good in self.good.items()})

    def read(self, arm: str) -> list[Repetition]:
        """Return the repetitions that an arm has measured so far."""
        return self._repetitions(self.good[arm])

    def read_warm_up(self, arm: str) -> list[Repetition]:
        """Return the repetitions of an arm's warm-up run and of its existing runs, which need the same ruler."""
        return self._repetitions([self.warm[arm], *self._earlier(arm)])

    def is_there(self, number: int) -> bool:
        """Return whether both runs of a pair already exist."""
        return self.resumes and all(self._done(self._label(number, arm), arm) for arm in arms.NAMES)

    def undelivered(self) -> list[Path]:
        """Return the runs of this experiment that wait for delivery, including those of a killed `ab`."""
        ours = re.compile(rf"{re.escape(self.name)}-({_WARM_UP}-)?({'|'.join(arms.NAMES)})(-\d+)?(-again-\d+)?")
        marks = self.store.glob(f"*/{layout.DELIVERY_LATER}")
        return sorted(mark.parent for mark in marks if ours.fullmatch(mark.parent.name))

    def _check_harness(self, made: Mapping[str, Path]) -> None:
        """Make sure that each arm ran its own checkout of the harness, not that of the other arm.

        Args:
            made: a run of each arm.
        """
        ran = {arm: checkouts.recorded(directory) for arm, directory in made.items()}
        if wrong := checkouts.of_other_arm(ran, {arm: place.directory for arm, place in self.places.items()}):
            raise BadInputError(wrong)

    def _earlier(self, arm: str) -> list[Path]:
        """Return the existing runs of an arm, from the first on."""
        found: list[Path] = []
        while self.resumes and (done := self._done(self._label(len(found) + 1, arm), arm)):
            found.append(done)
        return found

    def _repetitions(self, directories: Sequence[Path]) -> list[Repetition]:
        for directory in directories:
            if directory not in self._read:
                self._read[directory] = read([directory], clocks=self._clocks)
        return [one for directory in directories for one in self._read[directory]]

    def _label(self, number: int, arm: str) -> str:
        return f"{self.name}-{arm}-{number}"

    def _run(self, number: int, arm: str, left: int | None) -> None:
        """Make one run, and report its result and the time that is left."""
        label = self._label(number, arm)
        if self.resumes and (done := self._done(label, arm)):
            self.good[arm].append(done)
            self.took += _seconds(done)
            return
        directory = self._directory(label)
        code, seconds = self._make(directory, arm)
        self.made += 1
        self.took.append(seconds)
        self._failures[arm] = self._failures[arm] + 1 if code else 0
        if code == 0:
            self.good[arm].append(directory)
        rest = f", about {clock(left * self.pair_seconds / 2)} left" if left else ""
        ended = "ok" if code == 0 else f"exit {code}: left out"
        self.on_progress(f"{directory.name}  {seconds:.1f} s  {ended}{rest}")
        if code != 0:
            _show_end(directory, self.on_progress)

    def _done(self, label: str, arm: str) -> Path | None:
        """Return the successful run of an earlier experiment, if there is one. Wait for one that is still running.

        Raises:
            BadInputError: it is a run of another command or of another arm.
            KeyboardInterrupt: the user asked to stop while this waited.
        """
        for directory in self._attempts(label):
            if not directory.is_dir():
                continue
            self._wait_for(directory)
            facts = run_file.read(directory)
            if facts.get("exit_code") == 0 and layout.journal_names(directory):
                self._check_same(directory, facts, arm)
                return directory
        return None

    def _check_same(self, directory: Path, facts: Mapping[str, Any], arm: str) -> None:
        recorded = masking.recorded(self.command)
        only = "--resume continues only with the same command and arms; choose another --name"
        if facts.get("command", recorded) != recorded:
            raise BadInputError(f"{directory} ran another command: {only}")
        if "arm" not in facts:
            raise BadInputError(f"{directory} was not made by ab, so which arm it ran is not known: {only}")
        if differs := arm_facts.difference(facts["arm"], self._facts(arm)):
            raise BadInputError(f"{directory}: the {arm} {differs}: {only}")

    def _wait_for(self, directory: Path) -> None:
        """Wait for the end of a run whose `ab` was killed. Two runs at the same time would disturb each other."""
        names = [layout.RUN_FILE, *layout.journal_names(directory)]
        if not delivery_state.is_any_written(directory, names):
            return
        self.on_progress(f"{directory.name} is still running: waiting for its end")
        with self.interrupts.allowed():
            while delivery_state.is_any_written(directory, names):
                sleep(_LOOK_SECONDS)

    def _facts(self, arm: str) -> Mapping[str, str]:
        """Return the facts of an arm, as they were at the first call."""
        if arm not in self._arms:
            self._arms[arm] = arm_facts.facts_of(arm, self.places[arm], self.setup)
        return self._arms[arm]

    def _attempts(self, label: str) -> list[Path]:
        """Return the runs with a label: the first one, and its repetitions.

        Directories without `run.json` count, too (after a power failure, for example): their names are taken.
        """
        found: list[Path] = []
        while os.path.lexists(directory := self.store / (f"{label}-again-{len(found)}" if found else label)):
            found.append(directory)
        return found

    def _newest(self, number: int, arm: str) -> Path:
        label = self._label(number, arm)
        return [self.store / label, *self._attempts(label)][-1]

    def _directory(self, label: str) -> Path:
        """Return a directory for a new run.

        Raises:
            BadInputError: the run already exists, and `--resume` was not given.
        """
        attempts = self._attempts(label)
        if not attempts:
            return self.store / label
        if not self.resumes:
            raise BadInputError(f"{attempts[0]} already exists; choose another --name, or continue it with --resume")
        return self.store / f"{label}-again-{len(attempts)}"

    def _make(self, directory: Path, arm: str) -> tuple[int, float]:
        """Make one run. Returns its exit code and its duration in seconds."""
        place, known = self.places[arm], self._facts(arm)
        now = arm_facts.facts_of(arm, place, self.setup)
        if differs := arm_facts.difference(known, now):
            self.on_progress(f"the {arm} has changed while it is measured: before, it {differs}")
            self._arms[arm] = now
        ours = ["--deliver-later", "--arm", json.dumps(now), "--dir", str(self.store), "--name", directory.name]
        run = ["run", *ours, "--", *self.command]
        begun = monotonic()
        # Its own session, so that an interrupt reaches the command only through us, exactly once.
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
                return process.wait(), monotonic() - begun
        except KeyboardInterrupt:
            self._end(process)
            raise

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End a run with all processes of its command. Each further interrupt sends a stronger signal."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with suppress(KeyboardInterrupt), self.interrupts.allowed():
                process.wait()
                return


def _seconds(directory: Path) -> list[float]:
    """Return the duration of an existing run in seconds; empty if unknown."""
    facts = run_file.read(directory)
    began, ended = facts.get("started_unix_ns"), facts.get("ended_unix_ns")
    return [(ended - began) / 1e9] if isinstance(began, int) and isinstance(ended, int) and ended > began else []


def _see(directory: Path) -> str:
    return f": see {directory}" if directory.is_dir() else ""


def _show_end(directory: Path, show: Callable[[str], None]) -> None:
    """Show the last lines that a failed run printed."""
    if not directory.is_dir():
        show(f"  nothing of it is stored: no run could be made in {directory.parent}, or the command can't be started")
    for log in (layout.STDOUT_LOG, layout.STDERR_LOG):
        path = directory / log
        lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
        for line in lines[-_SHOWN_LINES:]:
            show(f"  {log}: {line}")
