"""`scenetest-otel report`: a comparison as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opentelemetry.instrumentation.scenetest.cli.arguments import complete_runs
from opentelemetry.instrumentation.scenetest.cli.arm_options import source_options, split_arms
from opentelemetry.instrumentation.scenetest.cli.compare import ArmsCommand, compared, comparison_options, exit_code
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.sources.arms import read_arms


@click.command(cls=ArmsCommand)
@click.argument(
    "arms", nargs=-1, metavar="RUN... | BASE... -- MEASURE...", type=click.UNPROCESSED, shell_complete=complete_runs
)
@source_options
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    default="report.html",
    show_default=True,
    help="File to write.",
)
@comparison_options
def report(arms: tuple[str, ...], store: str | None, jaeger: str | None, output: str, **asked: Any) -> int:
    """Write a page that needs no network: verdict, conditions side by side, every round a point.

    Without -- the runs are shown beside each other, and nothing is judged. Exit codes are those of `compare`.
    """
    from opentelemetry.instrumentation.scenetest.render.comparison_document import document
    from opentelemetry.instrumentation.scenetest.render.html.page import page

    base, *others = read_arms(split_arms(arms, least=1), store, jaeger)
    found = compared(base, others[0] if others else None, asked)
    code, reason = exit_code(found, asked["fail_slower"])
    try:
        Path(output).write_text(page(document(found, code, reason)), "utf-8")
    except OSError as error:
        raise BadInputError(f"{output} can't be written ({error.strerror}); name another file with -o") from None
    click.echo(output)
    return code
