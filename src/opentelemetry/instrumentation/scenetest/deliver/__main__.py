"""The process that delivers a run in the background: what the watcher becomes when the run has ended.

Its messages go to `delivery.txt` in the run directory, and what the process that made the run has to know to
`delivery.json`. If processes of the run still live, it becomes the watcher again.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from opentelemetry.instrumentation.scenetest import journal, replay
from opentelemetry.instrumentation.scenetest.deliver import endpoint, ship, state
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.deliver.refusal import Refused
from opentelemetry.instrumentation.scenetest.errors import BadInputError

PATIENCE = 300.0
"""Seconds for which a backend may be away before this gives up, and `push` is the way."""

_WATCHER = Path(__file__).parent.parent / "record" / "watcher.py"


def main() -> None:
    """Deliver the run whose directory is the one argument."""
    directory = Path(sys.argv[1])
    with state.Lock(directory) as lock:
        if not lock.held:
            return
        try:
            to = endpoint.from_environment()
            if to is not None:
                _deliver(directory, to)
        except (Refused, BadInputError) as error:
            _say(str(error))
            state.write(directory, problem=str(error))
            return
        if _is_held(directory):
            os.execv(sys.executable, [sys.executable, "-I", "-S", str(_WATCHER), str(directory), "0", "again"])


def _deliver(directory: Path, to: Endpoint) -> None:
    told = False

    def tell(tally: ship.Tally) -> None:
        nonlocal told
        if tally.refused and not told:
            told = True
            _say(f"{tally.refused}; trying again for up to {PATIENCE:g} s")
            state.write(directory, problem=str(tally.refused))

    sender = ship.sender_for(to)
    tally = ship.Shipment(directory, replay.read_facts(directory), sender, PATIENCE, tell).deliver()
    sender.close()
    _say(f"{tally.accepted} spans accepted by {to.url}")
    state.write(directory, problem=tally.problem, accepted=tally.accepted, to=to.url)


def _is_held(directory: Path) -> bool:
    files = [directory / journal.RUN_FILE, *directory.glob(f"*{journal.SUFFIX}")]
    return any(journal.is_held(path) for path in files if path.exists())


def _say(line: str) -> None:
    print(time.strftime("%Y-%m-%d %H:%M:%S"), line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
