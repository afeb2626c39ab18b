"""`scenetest-otel export`: writes one run as a file for other tools."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

import click

from opentelemetry.instrumentation.scenetest.cli.arguments import complete_runs
from opentelemetry.instrumentation.scenetest.cli.output import whole_file
from opentelemetry.instrumentation.scenetest.render.formats import FORMATS
from opentelemetry.instrumentation.scenetest.sources import stores


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.option("--dir", "store", metavar="DIR", help="Look for the run in this store only.")
@click.option("--format", "form", type=click.Choice([*FORMATS]), required=True, help="The format.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write. Default: standard output.")
def export(run: str, store: str | None, form: str, output: Path | None) -> None:
    """Write one run as OTLP JSON lines, or as a trace for ui.perfetto.dev and chrome://tracing."""
    directory = stores.find(run, store)
    with whole_file(output) if output else nullcontext(sys.stdout) as stream:
        FORMATS[form](directory, stream)
