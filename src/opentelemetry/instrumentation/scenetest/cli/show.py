"""`scenetest-otel show`: prints one run, the verdict first."""

from __future__ import annotations

import json
from pathlib import Path

import click

from opentelemetry.instrumentation.scenetest.analyse import contamination
from opentelemetry.instrumentation.scenetest.analyse.runs import Run
from opentelemetry.instrumentation.scenetest.cli.arguments import complete_runs
from opentelemetry.instrumentation.scenetest.errors import Failure
from opentelemetry.instrumentation.scenetest.exits import Exit
from opentelemetry.instrumentation.scenetest.render import run_json, run_text
from opentelemetry.instrumentation.scenetest.render.native_text import NativeView
from opentelemetry.instrumentation.scenetest.render.plain import plain
from opentelemetry.instrumentation.scenetest.render.plain_console import console
from opentelemetry.instrumentation.scenetest.sources import runs, stores


@click.command()
@click.argument("run", required=False, shell_complete=complete_runs)
@click.option("--dir", "store", metavar="DIR", help="Look for the run in this store only.")
@click.option("--conditions", "with_conditions", is_flag=True, help="List every condition and how it was observed.")
@click.option("--native", "with_native", is_flag=True, help="Show the harness's native timings as a tree.")
@click.option("--line", "as_line", is_flag=True, help="Print one line: the verdict, the rulers, the run directory.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for machines.")
@click.option("--require", type=click.Choice(["clean"]), help="Exit with 6 if the verdict is a different one.")
def show(
    run: str | None,
    store: str | None,
    with_conditions: bool,
    with_native: bool,
    as_line: bool,
    as_json: bool,
    require: str | None,
) -> None:
    """Show one run: its verdict, its conditions, its cases. Without RUN, show the newest.

    RUN is the path of a run directory or the name of a stored run. If several runs have that name, it means the newest;
    NAME@1 is the oldest.
    """
    loaded = runs.load(stores.find(run, store) if run else stores.newest(store))
    if as_json:
        native = loaded.native() if with_native else None
        click.echo(json.dumps(run_json.document(loaded, native), indent=2))
    elif as_line:
        click.echo(_line(loaded))
    else:
        screen = console()
        run_text.print_run(screen, loaded, NativeView(loaded.native()), with_tree=with_native)
        if with_conditions:
            run_text.print_conditions(screen, loaded)
    found = contamination.verdict(loaded)
    if require and found.word != require.upper():
        sentence = f"{loaded.path.name} is {found.word}, not {require.upper()}: {found.reason}"
        raise Failure(sentence, Exit.CHECK_FAILED, reported=True)


def _line(run: Run) -> str:
    found = contamination.verdict(run)
    rulers = {dispatch.ruler for process in run.processes for _, dispatch in process.all_dispatches()}
    shown = f"ruler {', '.join(sorted(rulers))}" if len(rulers) < _SHOWN_RULERS else f"{len(rulers)} rulers"
    return plain(f"{found.word}  {found.reason}; {shown}; {run.path}")


_SHOWN_RULERS = 3


def print_summary(directory: Path) -> None:
    """Print a run on standard error, at the end of `scenetest-otel run`.

    Raises:
        BadInputError: nothing was recorded in the run.
    """
    loaded = runs.load(directory)
    run_text.print_run(console(stderr=True), loaded, NativeView(loaded.native()))
