"""`scenetest-otel ab`: one command in two places, taking turns, and the comparison at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from time import monotonic, strftime
from typing import Any

import click

from opentelemetry.instrumentation.scenetest import journal
from opentelemetry.instrumentation.scenetest.analyse.stores import LOCAL_STORE, is_run
from opentelemetry.instrumentation.scenetest.cli import arms as places
from opentelemetry.instrumentation.scenetest.cli.arms import Place
from opentelemetry.instrumentation.scenetest.cli.compare import comparison_options, finish, form_options, is_same_ruler
from opentelemetry.instrumentation.scenetest.cli.defaults import WithDefaults
from opentelemetry.instrumentation.scenetest.cli.exits import say
from opentelemetry.instrumentation.scenetest.cli.sources import read
from opentelemetry.instrumentation.scenetest.errors import BadInputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.instrumentation.scenetest.analyse.compare.samples import Repetition

# The arm's directory is not on the path of our own interpreter: what lies there must not be imported by it.
_RUN = """
import sys
sys.path[:] = filter(None, sys.path)
from opentelemetry.instrumentation.scenetest.cli import main
main()
"""
_SHOWN_LINES = 10


@click.command(cls=WithDefaults, context_settings={"allow_interspersed_args": False})
@click.option("-n", "pairs", type=click.IntRange(1), default=4, show_default=True, help="Pairs; a verdict needs 4.")
@click.option("--arm", "given", metavar="ARM", multiple=True, help="base=DIR, measure=DIR, base:VAR=VALUE, ...")
@click.option("--dir", "store", metavar="DIR", help=f"The store: default ${journal.STORE_VARIABLE}, {LOCAL_STORE}.")
@click.option("--name", metavar="NAME", help="What the names of the runs begin with: default the time.")
@comparison_options
@form_options
@click.argument("command", metavar="-- CMD...", nargs=-1, type=click.UNPROCESSED)
def ab(
    pairs: int, given: Sequence[str], store: str | None, name: str | None, command: Sequence[str], **asked: Any
) -> int:
    """Run a command in two checkouts or environments, taking turns, and compare.

    The order is base, measure, measure, base, and so on. It stops after the first pair if the rulers differ, and on
    Ctrl-C with what it has.
    """
    if not any(command[:1]):
        raise BadInputError("there is no command: give one after --, as in: ab --arm base=../main -- python test_x.py")
    where = os.path.abspath(store or os.environ.get(journal.STORE_VARIABLE) or LOCAL_STORE)
    experiment = Experiment(places.parse(given), Path(where), name or strftime("%Y%m%d-%H%M%S"), list(command))
    with _signals_interrupt():
        try:
            for number, (pair, arm) in enumerate(places.turns(pairs)):
                experiment.run(pair, arm, left=2 * pairs - number)
                if number == 1 and not experiment.same_ruler(asked):
                    break
        except KeyboardInterrupt:
            say(f"interrupted: comparing what there is; the runs are in {where}")
    return finish(experiment.read("base"), experiment.read("measure"), asked)


@dataclass
class Experiment:
    """Runs of both arms, as they are made.

    Attributes:
        places: where each arm runs.
        store: where the runs go.
        name: what their names begin with.
        command: what is run.
        good: the directories of the runs that did not fail.
        took: how long the runs took, in seconds.
    """

    places: Mapping[str, Place]
    store: Path
    name: str
    command: list[str]
    good: dict[str, list[Path]] = field(default_factory=lambda: {name: [] for name in places.NAMES})
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
        say(f"{label}  {self.took[-1]:.1f} s  {'ok' if code == 0 else f'exit {code}: left out'}{rest}")
        if code != 0:
            _show_end(directory)

    def same_ruler(self, asked: Mapping[str, Any]) -> bool:
        """Tell after the first pair whether to go on.

        Raises:
            BadInputError: an arm can't be measured, or the two have nothing in common.
        """
        for arm, good in self.good.items():
            if not good:
                raise BadInputError(f"the {arm} failed in its first run: see {self.store / f'{self.name}-{arm}-1'}")
        return is_same_ruler(self.read("base"), self.read("measure"), asked)

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
            return process.wait()
        except KeyboardInterrupt:
            _end(process)
            raise


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a run and all of its command; each further interrupt asks for it with more force."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        os.killpg(process.pid, number)
        with suppress(KeyboardInterrupt):
            process.wait()
            return


def _show_end(directory: Path) -> None:
    """Show the last lines of what a run that failed has printed."""
    for log in ("stdout.log", "stderr.log"):
        path = directory / log
        lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
        for line in lines[-_SHOWN_LINES:]:
            click.echo(f"  {log}: {line}", err=True)


@contextmanager
def _signals_interrupt() -> Generator[None]:
    """Let a request to end stop us as Ctrl-C does, with the comparison."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
