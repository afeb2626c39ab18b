"""`scenetest-otel compare`: compares two arms, if their rulers are the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, Literal, TypeAlias, TypeVar

import click

from opentelemetry.instrumentation.scenetest.cli import arm_options
from opentelemetry.instrumentation.scenetest.cli.arguments import complete_runs
from opentelemetry.instrumentation.scenetest.cli.defaults import WithDefaults
from opentelemetry.instrumentation.scenetest.cli.ending import say
from opentelemetry.instrumentation.scenetest.conditions import groups
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.exits import Exit
from opentelemetry.instrumentation.scenetest.render.plain_console import console
from opentelemetry.instrumentation.scenetest.sources.arms import read_arms

TYPE_CHECKING = False
if TYPE_CHECKING:
    # They import numpy and scipy, and other commands must not wait for that.
    from opentelemetry.instrumentation.scenetest.analyse.compare.comparison import Comparison
    from opentelemetry.instrumentation.scenetest.analyse.compare.options import Options
    from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import Repetition

Format: TypeAlias = Literal["text", "json", "markdown"]
Function = TypeVar("Function", bound=Callable[..., Any])

_ALLOW = (
    "Accept that the arms differ in this condition, or in a group of conditions: "
    f"{', '.join(groups.GROUPS)}. `failed` accepts failed runs, `concurrency` processes that dispatched at the same "
    "time, `not-recorded` conditions that a log does not contain. Every result says so."
)


class ArmsCommand(WithDefaults):
    """A command that accepts options before and after the `--` between the arms."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Hide the first `--` from click, which would not accept options after it."""
        at = args.index("--") if "--" in args else len(args)
        return super().parse_args(
            ctx, [*args[:at], *([arm_options.BETWEEN] if at < len(args) else []), *args[at + 1 :]]
        )


class Finite(click.FloatRange):
    """A finite number in a range. With `nan` or `inf`, a limit would never be exceeded."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number = super().convert(value, param, ctx)
        return number if isfinite(number) else self.fail(f"{value} is not a finite number.", param, ctx)


def comparison_options(function: Function) -> Function:
    """Add the options for a comparison of two arms, which are the same for every command that compares."""
    options = (
        click.option("--sum", "names", metavar="NAME,NAME", default="", help="Test the sum of these spans or figures."),
        click.option(
            "--control",
            "controls",
            metavar="NAME",
            multiple=True,
            help="A span or figure that must not change.",
        ),
        click.option(
            "--cold",
            metavar="ROUNDS",
            type=click.IntRange(0),
            default=1,
            show_default=True,
            help="Minimum number of rounds to drop at the start.",
        ),
        click.option(
            "--margin",
            metavar="PCT",
            type=Finite(0, min_open=True),
            default=5.0,
            show_default=True,
            help="Equivalence margin, in percent.",
        ),
        click.option(
            "--resolution",
            metavar="NS",
            type=Finite(0),
            default=100.0,
            show_default=True,
            help="Smallest difference that counts, in nanoseconds.",
        ),
        click.option("--allow", metavar="KEY", multiple=True, help=_ALLOW),
        click.option(
            "--fail-slower",
            metavar="PCT",
            type=Finite(0),
            help="Exit with 5 if slower by PCT % or more, and with 7 if there is no verdict.",
        ),
    )
    return _decorated(function, options)


def form_options(function: Function) -> Function:
    """Add the options for the format of the output."""
    options = (
        click.option("--json", "form", flag_value="json", help="Print one JSON object."),
        click.option("--markdown", "form", flag_value="markdown", help="Print Markdown, for a pull request."),
    )
    return _decorated(function, options)


def _decorated(function: Function, options: Sequence[Callable[[Function], Function]]) -> Function:
    for option in reversed(options):
        function = option(function)
    return function


@click.command(cls=ArmsCommand)
@click.argument("arms", nargs=-1, metavar="BASE... -- MEASURE...", type=click.UNPROCESSED, shell_complete=complete_runs)
@arm_options.source_options
@comparison_options
@form_options
def compare(arms: tuple[str, ...], store: str | None, jaeger: str | None, **asked: Any) -> int:
    """Show whether MEASURE is faster or slower than BASE.

    An arm is one or more runs: paths, names, globs of names in quotes, or jaeger:KEY=VALUE&... for runs in a Jaeger.
    Alternate the arms when you record them, or let `scenetest-otel ab` do it.
    """
    base, measure = read_arms(arm_options.split_arms(arms, least=2), store, jaeger)
    return finish(compared(base, measure, asked), asked)


def compared(base: Sequence[Repetition], measure: Sequence[Repetition] | None, asked: Mapping[str, Any]) -> Comparison:
    """Compare two arms. Without a second arm, describe the runs of the first, side by side.

    Args:
        base: the repetitions of the base.
        measure: those of the measure; None for one arm.
        asked: the options of the command line.

    Raises:
        BadInputError: an option can't be used.
    """
    from opentelemetry.instrumentation.scenetest.analyse.compare.comparison import compare, describe
    from opentelemetry.instrumentation.scenetest.analyse.compare.options import OptionError

    try:
        return describe(base, options(asked)) if measure is None else compare(base, measure, options(asked))
    except OptionError as error:
        raise BadInputError(f"{_FLAGS[error.option]} {error}") from None


def check_allowed(asked: Mapping[str, Any]) -> None:
    """Check `--allow` before the measurement. The names in other options can be checked only afterwards.

    Raises:
        BadInputError: a name in `--allow` is not a condition of the ruler or a group of them.
    """
    from opentelemetry.instrumentation.scenetest.analyse.compare import options as known

    try:
        known.check_allowed(groups.expand(asked["allow"]))
    except known.OptionError as error:
        raise BadInputError(f"{_FLAGS[error.option]} {error}") from None


_FLAGS = {"sum": "--sum", "controls": "--control", "allow": "--allow"}


def finish(comparison: Comparison, asked: Mapping[str, Any]) -> int:
    """Print a comparison in the requested format, and return the exit code."""
    code, reason = exit_code(comparison, asked["fail_slower"])
    print_as(comparison, asked["form"] or "text", code, reason)
    if asked["fail_slower"] is not None:
        _warn_of_too_few(comparison, asked["fail_slower"])
    return code


def _warn_of_too_few(comparison: Comparison, fail_slower: float) -> None:
    """Report the rows that have too few pairs to find a slowdown of `--fail-slower`."""
    from opentelemetry.instrumentation.scenetest.render.wording import too_few_for

    for case in comparison.cases:
        for row in case.rows:
            if row.role == "named" and (problem := too_few_for(row, fail_slower / 100)):
                say(f"--fail-slower {fail_slower:g}: {case.key.title}  {row.name}: {problem}")


def options(asked: Mapping[str, Any]) -> Options:
    """Return the options of the command line in the form that the comparison takes."""
    from opentelemetry.instrumentation.scenetest.analyse.compare.options import Options

    return Options(
        cold=asked["cold"],
        margin=asked["margin"] / 100,
        resolution_ns=asked["resolution"],
        sum=tuple(name.strip() for name in asked["names"].split(",") if name.strip()),
        controls=tuple(asked["controls"]),
        allow=groups.expand(asked["allow"]),
    )


def print_as(comparison: Comparison, form: Format, code: Exit, reason: str) -> None:
    """Print a comparison as text, JSON or Markdown."""
    from opentelemetry.instrumentation.scenetest.render.comparison_document import document
    from opentelemetry.instrumentation.scenetest.render.comparison_json import as_json
    from opentelemetry.instrumentation.scenetest.render.comparison_markdown import markdown
    from opentelemetry.instrumentation.scenetest.render.comparison_text import print_comparison

    found = document(comparison, code, reason)
    if form == "json":
        click.echo(json.dumps(as_json(found), indent=2))
    elif form == "markdown":
        click.echo(markdown(found), nl=False)
    else:
        print_comparison(console(), found)


def exit_code(comparison: Comparison, fail_slower: float | None) -> tuple[Exit, str]:
    """Return the exit code, and the reason if it is not 0. It depends on the rows of `--sum`, else the dispatch.

    Args:
        comparison: the comparison.
        fail_slower: the smallest slowdown that is a failure, in percent; None without `--fail-slower`.
    """
    from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm
    from opentelemetry.instrumentation.scenetest.analyse.stats.verdict import Verdict

    if not comparison.gate.comparable:
        return Exit.NOT_THE_SAME_RULER, "No number"
    if comparison.one_arm:
        return Exit.DONE, ""
    if not comparison.compared:
        return Exit.NO_VERDICT, "Nothing was compared"
    if fail_slower is None:
        return Exit.DONE, ""
    slowdowns = [
        row.evidence.minimum.delta
        for row in comparison.named
        if row.reason.verdict is Verdict.SLOWER and row.evidence.minimum is not None
    ]
    if any(100 * slowdown >= fail_slower for slowdown in slowdowns):
        return Exit.SLOWER, f"Slower by at least {fail_slower:g} %"
    if {row.reason.verdict for row in comparison.named} & {Verdict.CONTENDED, Verdict.UNRESOLVED}:
        return Exit.NO_VERDICT, "A case has no verdict"
    if comparison.unmatched[Arm.BASE]:
        return Exit.NO_VERDICT, "The measure lacks a case of the base"
    return Exit.DONE, ""
