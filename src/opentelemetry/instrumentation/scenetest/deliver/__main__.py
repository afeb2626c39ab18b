"""The process that delivers a run in the background: what the watcher becomes when the run has ended.

Its messages go to `delivery.txt` in the run directory, and what the process that made the run has to know to
`delivery.json`. If processes of the run still live, or begin to measure, it becomes the watcher again.

Usage: python -m opentelemetry.instrumentation.scenetest.deliver DIRECTORY [late]

With `late` the processes that hold journals now have had their time, and what they have ended is delivered, too.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from opentelemetry.instrumentation.scenetest.deliver import endpoint, ship
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.deliver.refusal import Refused
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.rundir import delivery_state, layout, liveness, run_file

PATIENCE = 300.0
"""Seconds for which a backend may be away before this gives up, and `push` is the way."""

_WATCHER = Path(__file__).parent / "watcher.py"


class _RunGoesOn(Exception):  # noqa: N818
    """A process of the run has begun to measure, and nothing is sent meanwhile."""


def main() -> None:
    """Deliver the run whose directory is the first argument."""
    directory, *late = sys.argv[1:]
    run = Path(directory)
    with delivery_state.Lock(run) as lock:
        if not lock.held:
            return
        try:
            to = endpoint.from_environment()
            if to is not None:
                _deliver(run, to, _journals(run) if late else set())
        except _RunGoesOn:
            _say("a process of the run has begun to measure: going on when it has ended")
        except (Refused, BadInputError, OSError) as error:
            problem = delivery_state.unusable(error) if isinstance(error, OSError) else str(error)
            _say(problem)
            with suppress(OSError):
                delivery_state.write(run, problem=problem)
            return
        if _is_any_held(run, (layout.RUN_FILE, *_journals(run))):
            os.execv(sys.executable, [sys.executable, "-I", "-S", str(_WATCHER), directory, "0", "again"])


def _deliver(run: Path, to: Endpoint, known: set[str]) -> None:
    """Deliver a run for as long as nobody holds a journal that is not known."""
    told = False

    def tell(tally: ship.Tally) -> None:
        nonlocal told
        if tally.refused and not told:
            told = True
            _say(f"{tally.refused}; trying again for up to {PATIENCE:g} s")
            delivery_state.write(run, problem=str(tally.refused))
        look()

    def look() -> None:
        new = _journals(run) - known
        known.update(new)
        if _is_any_held(run, new):
            raise _RunGoesOn

    look()
    sender = ship.sender_for(to)
    tally = ship.Shipment(run, run_file.read(run), sender, PATIENCE, tell).deliver()
    sender.close()
    _say(f"{tally.accepted} spans accepted by {to}")
    delivery_state.write(run, problem=tally.problem, accepted=tally.accepted, to=str(to))


def _journals(run: Path) -> set[str]:
    """Return the names of all journals: asked for after every batch, where a glob of thousands takes 20 ms."""
    return set(layout.journal_names(run))


def _is_any_held(run: Path, names: Iterable[str]) -> bool:
    """Tell whether the writer of one of these files lives. One that is gone by now has none."""
    for name in names:
        with suppress(FileNotFoundError):
            if liveness.is_written(run / name):
                return True
    return False


def _say(line: str) -> None:
    # A disk that is full keeps nothing from being delivered.
    with suppress(OSError):
        print(time.strftime("%Y-%m-%d %H:%M:%S"), line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
