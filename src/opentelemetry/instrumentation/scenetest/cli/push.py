"""`scenetest-otel push`: delivers the spans that no backend has accepted yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from opentelemetry.instrumentation.scenetest import destination
from opentelemetry.instrumentation.scenetest.cli.arguments import complete_runs
from opentelemetry.instrumentation.scenetest.deliver import delivery, endpoint, native, spans
from opentelemetry.instrumentation.scenetest.deliver.delivery import (
    Delivery,
    Exporter,
    MeasuringError,
    QuietGuard,
    Tally,
)
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.deliver.result import ExportError
from opentelemetry.instrumentation.scenetest.deliver.withheld import Selection
from opentelemetry.instrumentation.scenetest.deliver.withheld import count as count_withheld
from opentelemetry.instrumentation.scenetest.deliver.withheld import sentences as withheld_sentences
from opentelemetry.instrumentation.scenetest.errors import BadInputError, Failure
from opentelemetry.instrumentation.scenetest.exits import Exit
from opentelemetry.instrumentation.scenetest.render.plain import plain
from opentelemetry.instrumentation.scenetest.render.plain_console import console
from opentelemetry.instrumentation.scenetest.rundir import delivery_state, layout, run_file
from opentelemetry.instrumentation.scenetest.sources import stores

_NO_ENDPOINT = (
    "there is no endpoint to deliver to: set OTEL_EXPORTER_OTLP_ENDPOINT, "
    "as to http://localhost:4318 for a collector on this machine"
)

_SHOWN_PROBLEMS = 5
_GRACE_SECONDS = 5
"""Seconds to wait for a background delivery to end, in addition to one attempt. It may still be starting."""


@click.command()
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=complete_runs)
@click.option("--dir", "store", metavar="DIR", help="Look for runs in this store only.")
@click.option("--unsampled", is_flag=True, help="Also deliver traces that were not sampled.")
@click.option(
    "--live",
    is_flag=True,
    help="Also deliver live spans of processes that died before their tracer provider exported them all.",
)
def push(runs: tuple[str, ...], store: str | None, unsampled: bool, live: bool) -> None:
    """Deliver the spans that no backend has accepted yet. Without RUN, deliver all runs of all stores.

    Configure the endpoint with the OTEL_EXPORTER_OTLP_* variables.
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
        withheld = [Selection.UNSAMPLED] * unsampled + [Selection.LIVE] * live
        push_all([directory for directory in directories if _has_left(directory, withheld)], to, click.echo, withheld)
        for sentence in chain.from_iterable(map(withheld_sentences, directories if not withheld else ())):
            click.echo(sentence)


def _has_left(directory: Path, withheld: Sequence[Selection]) -> bool:
    return not delivery.is_delivered(directory) or any(
        delivery.has_withheld_left(directory, each) and count_withheld(directory)[each] for each in withheld
    )


def print_spans(directory: Path) -> None:
    """Print all spans of a run as JSON, as OpenTelemetry's console exporter does."""
    facts = run_file.read(directory)
    for span in chain(spans.of_run(directory, facts), native.of_run(directory, facts)):
        click.echo(span.to_json())


def push_all(
    directories: Sequence[Path], to: Endpoint, tell: Callable[[str], None], withheld: Sequence[Selection] = ()
) -> None:
    """Deliver the undelivered spans of runs.

    Args:
        directories: the run directories.
        to: the endpoint.
        tell: called with a sentence on what was delivered.
        withheld: kinds of spans that are usually withheld, to be delivered, too.

    Raises:
        Failure: not everything was delivered.
    """
    problems: list[str] = []
    total = Tally()
    # Native spans are counted only after the others are sent, so there is no total to show.
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed} spans"),
        TimeRemainingColumn(),
    )
    screen = console(stderr=True)
    exporter = delivery.exporter_for(to)
    try:
        with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
            for done, directory in enumerate(directories):
                try:
                    problem = _push(directory, exporter, to, total, progress, withheld)
                except ExportError as error:
                    left = len(directories) - done
                    problems.append(f"{error}; {left} run{'' if left == 1 else 's'} not delivered")
                    break
                except OSError as error:
                    problem = delivery_state.unusable(error)
                problems += [f"{directory.name}: {problem}"] if problem else []
    finally:
        exporter.shutdown()
    if not directories:
        tell("nothing is left to deliver")
    elif total.accepted or not problems:
        runs = f"{len(directories)} run{'' if len(directories) == 1 else 's'}"
        tell(f"{total.accepted} spans of {runs} delivered to {to}")
    if problems:
        raise Failure(_in_one_sentence(problems), Exit.NOT_DELIVERED)


def _in_one_sentence(problems: Sequence[str]) -> str:
    """Name the first problems and the last one, which may have ended the delivery, and count the others."""
    if len(problems) <= _SHOWN_PROBLEMS:
        return "; ".join(problems)
    others = f"{len(problems) - _SHOWN_PROBLEMS} more like these"
    return "; ".join([*problems[: _SHOWN_PROBLEMS - 1], others, problems[-1]])


def _push(
    directory: Path,
    exporter: Exporter,
    to: Endpoint,
    total: Tally,
    progress: Progress,
    withheld: Sequence[Selection],
) -> str:
    """Deliver one run, and return the problem; "" if there is none."""
    if delivery_state.is_measured(directory):
        return "it is still being measured, and nothing is sent meanwhile"
    written = {name for name in layout.journal_names(directory) if delivery_state.is_any_written(directory, [name])}
    # A background delivery ends after its present batch. A watcher that waits for running processes doesn't end.
    wait = 0 if written else to.timeout + _GRACE_SECONDS
    with delivery_state.DeliveryRole(directory, layout.PUSH_LOCK) as push:
        if not push.held:
            return "another push delivers it"
        with delivery_state.DeliveryRole(directory, layout.DELIVERY_LOCK, wait) as role:
            if not role.held:
                return "another process delivers it, or waits for its end to do so"
            return _deliver(directory, exporter, to, total, progress, written, withheld)


def _deliver(
    directory: Path,
    exporter: Exporter,
    to: Endpoint,
    total: Tally,
    progress: Progress,
    written: set[str],
    withheld: Sequence[Selection],
) -> str:
    task = progress.add_task(plain(directory.name), total=None if progress.disable else delivery.count_left(directory))
    before = total.accepted
    current = Delivery(
        directory,
        run_file.read(directory),
        exporter,
        to.timeout,
        lambda tally: progress.update(task, completed=tally.done),
        QuietGuard(directory, written),
        withheld=withheld,
    )
    try:
        problem = current.deliver().problem
    except MeasuringError:
        problem = "a process of it has begun to measure, and nothing is sent meanwhile"
    finally:
        total.accepted = before + current.tally.accepted
    delivery_state.write(directory, problem=problem, accepted=current.tally.accepted, to=str(to))
    if not problem and not delivery.is_delivered(directory):
        return "processes of it still run, or ran elsewhere: what they have not ended is left"
    return problem
