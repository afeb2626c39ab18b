"""The process that delivers a run in the background: what the watcher becomes when the run has ended.

Its messages go to `delivery.txt` in the run directory. What the process that made the run has to know goes to
`delivery.json`. If processes of the run still live, or begin to measure, it becomes the watcher again, after the batch
in hand. It does the same if another run of the store begins. If `push` wants to deliver the run, it ends.

Usage: python -m opentelemetry.instrumentation.scenetest.deliver DIRECTORY [MOMENT [late]]

MOMENT is when the run had ended, in Unix nanoseconds: now, if it is not given. With `late`, the spans that ended in
processes that still hold their journals are delivered, too.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from opentelemetry.instrumentation.scenetest.deliver import delivery, endpoint
from opentelemetry.instrumentation.scenetest.deliver.delivery import MeasuringError, QuietGuard, Tally
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.deliver.result import ExportError
from opentelemetry.instrumentation.scenetest.deliver.retry import MAX_ELAPSED_TIME
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.rundir import delivery_state, handover, layout, liveness, run_file

_WATCHER = Path(__file__).parent / "watcher.py"


class _TakenOverError(Exception):
    """`push` wants to deliver the run."""


class _OtherRunError(Exception):
    """Another run of the store has begun. Its name is the message."""


def main() -> None:
    """Deliver the run whose directory is the first argument."""
    directory, *more = sys.argv[1:]
    moment, late = more[0] if more else str(time.time_ns()), more[1:]
    run = Path(directory)
    with delivery_state.DeliveryRole(run, layout.DELIVERY_LOCK) as role:
        if not role.held:
            return
        try:
            to = endpoint.from_environment()
            if to is not None:
                _deliver(run, to, int(moment), set(layout.journal_names(run)) if late else set())
        except MeasuringError:
            _say("a process of the run has begun to measure: going on when it has ended")
        except _OtherRunError as other:
            problem = f"run {other} has begun: the rest is sent when it has ended"
            _say(problem)
            with suppress(OSError):
                delivery_state.write(run, problem=problem)
            _watch(directory, str(handover.STRAGGLER_SECONDS), moment)
        except _TakenOverError:
            _say("push delivers the run from here")
            return
        except (ExportError, BadInputError, OSError) as error:
            problem = delivery_state.unusable(error) if isinstance(error, OSError) else str(error)
            _say(problem)
            with suppress(OSError):
                delivery_state.write(run, problem=problem)
            return
        if delivery_state.is_any_written(run, (layout.RUN_FILE, *layout.journal_names(run))):
            _watch(directory, "0")


def _watch(directory: str, seconds: str, *moment: str) -> NoReturn:
    os.execv(sys.executable, [sys.executable, "-I", "-S", str(_WATCHER), directory, seconds, "again", *moment])


def _deliver(run: Path, to: Endpoint, moment: int, known: set[str]) -> None:
    """Deliver a run as long as nobody writes a journal that is not known, and no other run begins."""
    told = False
    is_quiet = QuietGuard(run, known)
    settled: set[str] = set()

    def tell(tally: Tally) -> None:
        nonlocal told
        if tally.failure and not told:
            told = True
            _say(f"{tally.failure}; trying again for up to {MAX_ELAPSED_TIME:g} s")
            delivery_state.write(run, problem=str(tally.failure))

    def check() -> None:
        is_quiet()
        if delivery_state.is_pushed(run):
            raise _TakenOverError
        if other := liveness.begun_since(str(run / layout.RUN_FILE), moment, _journals, settled):
            raise _OtherRunError(Path(other).parent.name)

    check()
    exporter = delivery.exporter_for(to)
    try:
        tally = delivery.Delivery(run, run_file.read(run), exporter, MAX_ELAPSED_TIME, tell, check).deliver()
    finally:
        exporter.shutdown()
    _say(f"{tally.accepted} spans accepted by {to}")
    delivery_state.write(run, problem=tally.problem, accepted=tally.accepted, to=str(to))


def _journals(directory: str) -> list[Path]:
    return layout.journals(Path(directory))


def _say(line: str) -> None:
    # A full disk must not stop the delivery.
    with suppress(OSError):
        print(time.strftime("%Y-%m-%d %H:%M:%S"), line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
