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

from opentelemetry.instrumentation.scenetest import journal, replay
from opentelemetry.instrumentation.scenetest.deliver import endpoint, ship, state
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.deliver.refusal import Refused
from opentelemetry.instrumentation.scenetest.errors import BadInputError

PATIENCE = 300.0
"""Seconds for which a backend may be away before this gives up, and `push` is the way."""

_WATCHER = Path(__file__).parent.parent / "record" / "watcher.py"


class _RunGoesOn(Exception):  # noqa: N818
    """A process of the run has begun to measure, and nothing is sent meanwhile."""


def main() -> None:
    """Deliver the run whose directory is the first argument."""
    directory, *late = sys.argv[1:]
    run = Path(directory)
    with state.Lock(run) as lock:
        if not lock.held:
            return
        try:
            to = endpoint.from_environment()
            if to is not None:
                _deliver(run, to, _journals(run) if late else set())
        except _RunGoesOn:
            _say("a process of the run has begun to measure: going on when it has ended")
        except (Refused, BadInputError, OSError) as error:
            problem = state.unusable(error) if isinstance(error, OSError) else str(error)
            _say(problem)
            with suppress(OSError):
                state.write(run, problem=problem)
            return
        if _is_any_held(run, (journal.RUN_FILE, *_journals(run))):
            os.execv(sys.executable, [sys.executable, "-I", "-S", str(_WATCHER), directory, "0", "again"])


def _deliver(run: Path, to: Endpoint, known: set[str]) -> None:
    """Deliver a run for as long as nobody holds a journal that is not known."""
    told = False

    def tell(tally: ship.Tally) -> None:
        nonlocal told
        if tally.refused and not told:
            told = True
            _say(f"{tally.refused}; trying again for up to {PATIENCE:g} s")
            state.write(run, problem=str(tally.refused))
        look()

    def look() -> None:
        new = _journals(run) - known
        known.update(new)
        if _is_any_held(run, new):
            raise _RunGoesOn

    look()
    sender = ship.sender_for(to)
    tally = ship.Shipment(run, replay.read_facts(run), sender, PATIENCE, tell).deliver()
    sender.close()
    _say(f"{tally.accepted} spans accepted by {to}")
    state.write(run, problem=tally.problem, accepted=tally.accepted, to=str(to))


def _journals(run: Path) -> set[str]:
    """Return the names of all journals: asked for after every batch, where a glob of thousands takes 20 ms."""
    return {name for name in os.listdir(run) if name.endswith(journal.SUFFIX)}


def _is_any_held(run: Path, names: Iterable[str]) -> bool:
    """Tell whether the writer of one of these files lives. One that is gone by now has none."""
    for name in names:
        with suppress(FileNotFoundError):
            if journal.is_held(run / name):
                return True
    return False


def _say(line: str) -> None:
    # A disk that is full keeps nothing from being delivered.
    with suppress(OSError):
        print(time.strftime("%Y-%m-%d %H:%M:%S"), line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
