"""`scenetest-otel ingest`: adds logs with native timings to a run, or creates a run from logs alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from opentelemetry.instrumentation.scenetest.cli.arguments import complete_runs
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.native import alone
from opentelemetry.instrumentation.scenetest.render.native_text import accounting
from opentelemetry.instrumentation.scenetest.rundir import checkpoint, layout, logs, run_file
from opentelemetry.instrumentation.scenetest.sources import runs, stores

_LOG = click.Path(exists=True, dir_okay=False, path_type=Path)

MADE_BY = "ingest"
"""Value of `by` in the `run.json` of a run that was created from logs alone."""


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("files", metavar="LOG...", nargs=-1, required=True, type=_LOG)
@click.option("--dir", "store", metavar="DIR", help="Look for the run in this store only, or create it there.")
def ingest(run: str, files: tuple[Path, ...], store: str | None) -> None:
    """Add harness logs to a run. Their native timings are then shown under its dispatches.

    If RUN does not exist yet, it is created from the logs alone, with the conditions that they contain. Adding a log
    twice changes nothing.
    """
    directory = _existing(run, store) or _make(run, store, files)
    try:
        added = _add(directory, files)
    except OSError as error:
        raise BadInputError(f"{error.filename or directory}: {error.strerror}; nothing else was added") from error
    counts = runs.load(directory).native().counts
    again = f", {len(files) - added} of {len(files)} logs were there already" if added < len(files) else ""
    click.echo(f"{directory}: {accounting(counts) or 'no markers in its logs'}{again}")
    # The checkpoint holds only a number of native spans, so it can't tell which of them are new.
    if added and checkpoint.forget(directory / checkpoint.NATIVE):
        click.echo(f"its native spans were delivered before; deliver them again with: scenetest-otel push {run}")


def _add(directory: Path, files: Sequence[Path]) -> int:
    """Add logs, and return how many of them are new."""
    added = 0
    for path in files:
        with path.open("rb") as file:
            added += logs.add(directory, file, path.stem) is not None
    facts = run_file.read(directory)
    if facts.get("by") == MADE_BY:
        _write_journals(directory, facts["id"])
    return added


def _existing(run: str, store: str | None) -> Path | None:
    try:
        stores.find_all(run, store)
    except BadInputError:
        if Path(run).exists():
            raise
        return None
    return stores.find(run, store)


def _make(run: str, store: str | None, files: Sequence[Path]) -> Path:
    found = alone.listen(files)
    path = Path(run) if os.sep in run else stores.stores(store)[0] / run
    try:
        made = run_file.make_run(
            str(path.parent), by=MADE_BY, command=found.command, name=path.name, started_unix_ns=found.started_unix_ns
        )
    except OSError as error:
        raise BadInputError(f"{run!r} can't be made: {error.strerror}") from error
    return Path(made)


def _write_journals(directory: Path, run_id: str) -> None:
    """Write the journals that all logs of a run give together: the log of a worker belongs to that of its parent."""
    for name, text in alone.journals(alone.listen(logs.logs_of(directory)), run_id):
        path = directory / name
        if not path.exists() or path.read_text("ascii") != text:
            with open(path, "w", encoding="ascii", opener=layout.private) as file:
                file.write(text)
            checkpoint.forget(checkpoint.stem(path))
