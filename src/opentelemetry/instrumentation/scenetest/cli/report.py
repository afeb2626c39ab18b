"""`scenetest-otel report`: writes a comparison as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opentelemetry.instrumentation.scenetest.analyse.compare.gate import ALLOW_NOT_RECORDED
from opentelemetry.instrumentation.scenetest.cli.arguments import complete_runs
from opentelemetry.instrumentation.scenetest.cli.arm_options import source_options, split_arms
from opentelemetry.instrumentation.scenetest.cli.compare import ArmsCommand, compared, comparison_options, exit_code
from opentelemetry.instrumentation.scenetest.cli.ending import say
from opentelemetry.instrumentation.scenetest.cli.output import whole_file
from opentelemetry.instrumentation.scenetest.sources.arms import read_arms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.instrumentation.scenetest.render.comparison_document import Document


@click.command(cls=ArmsCommand)
@click.argument(
    "arms", nargs=-1, metavar="RUN... | BASE... -- MEASURE...", type=click.UNPROCESSED, shell_complete=complete_runs
)
@source_options
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default="report.html",
    show_default=True,
    help="File to write.",
)
@comparison_options
def report(arms: tuple[str, ...], store: str | None, jaeger: str | None, output: Path, **asked: Any) -> int:
    """Write an HTML page with the verdict, the conditions side by side, and every round as a point.

    The page needs no network. Without --, it shows the runs side by side, without a verdict. The exit codes are those
    of `compare`.
    """
    from opentelemetry.instrumentation.scenetest.render.comparison_document import document
    from opentelemetry.instrumentation.scenetest.render.html.page import page

    base, *others = read_arms(split_arms(arms, least=1), store, jaeger)
    found = compared(base, others[0] if others else None, asked)
    code, reason = exit_code(found, asked["fail_slower"])
    shown = document(found, code, reason)
    text = page(shown)
    with whole_file(output) as stream:
        stream.write(text)
    click.echo(output)
    if code:
        say(_in_one_sentence(shown))
    return code


def _in_one_sentence(shown: Document) -> str:
    """Return why the exit code is not 0, and what to do."""
    if shown.ruler.comparable:
        return shown.ending
    differ = [one.attribute for one in shown.refusal.rows]
    more = f" and {len(differ) - _NAMED} more" if len(differ) > _NAMED else ""
    verb = "differs or is unknown" if len(differ) == 1 else "differ or are unknown"
    why = [f"{', '.join(differ[:_NAMED])}{more} {verb}"] if differ else []
    reasons = "; ".join([*why, *shown.unrecorded])
    allowed = "KEY" if differ else ALLOW_NOT_RECORDED
    hint = f"The page shows them; to accept it, add --allow {allowed}. (exit {shown.exit_code})"
    return f"{shown.headline}, so no verdict: {reasons}. {hint}"


_NAMED = 3
