"""`scenetest-otel push`: delivers what no backend has accepted yet."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from opentelemetry.instrumentation.scenetest import destination
from opentelemetry.instrumentation.scenetest.cli.arguments import complete_runs
from opentelemetry.instrumentation.scenetest.deliver import endpoint, native, ship, spans
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.deliver.refusal import Refused
from opentelemetry.instrumentation.scenetest.errors import BadInputError, Failure
from opentelemetry.instrumentation.scenetest.exits import Exit
from opentelemetry.instrumentation.scenetest.render.plain import plain
from opentelemetry.instrumentation.scenetest.rundir import delivery_state, run_file
from opentelemetry.instrumentation.scenetest.sources import stores

_NO_ENDPOINT = (
    "there is no endpoint to deliver to: set OTEL_EXPORTER_OTLP_ENDPOINT, "
    "as to http://localhost:4318 for a collector on this machine"
)


@click.command()
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=complete_runs)
@click.option("--dir", "store", metavar="DIR", help="Look for runs in this store only.")
def push(runs: tuple[str, ...], store: str | None) -> None:
    """Deliver what no backend has accepted yet. Without RUN everything in all stores.

    Where to and how is said by the OTEL_EXPORTER_OTLP_* variables.
    """
    to, exporters = endpoint.from_environment(), destination.exporters()
    if not exporters:
        raise BadInputError("OTEL_TRACES_EXPORTER=none says that nothing is to be delivered: unset it to push")
    if any(map(destination.is_otlp, exporters)) and to is None:
        raise BadInputError(_NO_ENDPOINT)
    named = [directory for pattern in runs for directory in stores.find_all(pattern, store)]
    directories = list(dict.fromkeys(named)) if runs else stores.all_runs(store)
    if "console" in exporters:
        for directory in directories:
            print_spans(directory)
    if to is not None and any(map(destination.is_otlp, exporters)):
        _push_all([directory for directory in directories if not ship.is_delivered(directory)], to)


def print_spans(directory: Path) -> None:
    """Print all spans of a run as JSON, as OpenTelemetry's console exporter does."""
    facts = run_file.read(directory)
    for span in chain(spans.of_run(directory, facts), native.of_run(directory, facts)):
        click.echo(span.to_json())


def _push_all(directories: Sequence[Path], to: Endpoint) -> None:
    problems: list[str] = []
    total = ship.Tally()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    sender = ship.sender_for(to)
    try:
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
            for done, directory in enumerate(directories):
                try:
                    problem = _push(directory, sender, to, total, progress)
                except Refused as refused:
                    left = len(directories) - done
                    problems.append(f"{refused}; {left} run{'' if left == 1 else 's'} not delivered")
                    break
                except OSError as error:
                    problem = delivery_state.unusable(error)
                problems += [f"{directory.name}: {problem}"] if problem else []
    finally:
        sender.close()
    if not directories:
        click.echo("nothing is left to deliver")
    elif total.accepted or not problems:
        runs = f"{len(directories)} run{'' if len(directories) == 1 else 's'}"
        click.echo(f"{total.accepted} spans of {runs} delivered to {to}")
    if problems:
        raise Failure("; ".join(problems), Exit.NOT_DELIVERED)


def _push(directory: Path, sender: ship.Sender, to: Endpoint, total: ship.Tally, progress: Progress) -> str:
    """Deliver one run and return what is wrong with that, if anything is."""
    if delivery_state.is_measured(directory):
        return "it is still being measured, and nothing is sent meanwhile"
    with delivery_state.Lock(directory) as lock:
        if not lock.held:
            return "another process delivers it, or waits for its end to do so"
        task = progress.add_task(plain(directory.name), total=ship.count_left(directory))
        before = total.accepted
        shipment = ship.Shipment(
            directory,
            run_file.read(directory),
            sender,
            to.timeout,
            lambda tally: progress.update(task, completed=tally.accepted),
        )
        try:
            problem = shipment.deliver().problem
        finally:
            total.accepted = before + shipment.tally.accepted
        delivery_state.write(directory, problem=problem, accepted=shipment.tally.accepted, to=str(to))
    if not problem and not ship.is_delivered(directory):
        return "processes of it still run, or ran elsewhere: what they have not ended is left"
    return problem
