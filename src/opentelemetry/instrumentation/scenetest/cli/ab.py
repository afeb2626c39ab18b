"""`scenetest-otel ab`: alternates one command between two arms, and compares them at the end."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import strftime
from typing import Any

import click
from click.core import ParameterSource

from opentelemetry.instrumentation.scenetest import destination
from opentelemetry.instrumentation.scenetest.cli import compare
from opentelemetry.instrumentation.scenetest.cli.arguments import check_name, no_run_in
from opentelemetry.instrumentation.scenetest.cli.defaults import WithDefaults
from opentelemetry.instrumentation.scenetest.cli.ending import PROGRAM, flush, say
from opentelemetry.instrumentation.scenetest.conditions.autoload_setting import VARIABLE
from opentelemetry.instrumentation.scenetest.errors import BadInputError, Failure
from opentelemetry.instrumentation.scenetest.exits import Exit
from opentelemetry.instrumentation.scenetest.render.folding import print_line
from opentelemetry.instrumentation.scenetest.render.plain_console import console
from opentelemetry.instrumentation.scenetest.rundir import layout, run_file
from opentelemetry.instrumentation.scenetest.runner import arms, environments, worktrees
from opentelemetry.instrumentation.scenetest.runner.arms import Place
from opentelemetry.instrumentation.scenetest.runner.experiment import Experiment
from opentelemetry.instrumentation.scenetest.runner.interrupts import Interrupts
from opentelemetry.instrumentation.scenetest.runner.measure import Limits, measure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.instrumentation.scenetest.analyse.compare.comparison import Comparison

_PAIRS = 4
_MOST_PAIRS = 64
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?")
_GROUP = "autoload"


def _seconds(context: click.Context, option: click.Parameter, given: str | None) -> float | None:
    """Return a time such as 90s, 30m or 1h30m, in seconds."""
    if given is None:
        return None
    found = _DURATION.fullmatch(given.strip())
    parts = found.groups() if found else ()
    seconds = sum(float(part) * unit for part, unit in zip(parts, (3600, 60, 1), strict=False) if part)
    if not seconds:
        raise click.BadParameter(f"{given!r} is not a time; write it like 90s, 30m or 1h30m.", context, option)
    return seconds


@click.command(cls=WithDefaults, context_settings={"allow_interspersed_args": False})
@click.option(
    "-n",
    "pairs",
    metavar="PAIRS",
    type=click.IntRange(1),
    help=f"Number of pairs. A verdict needs 4. Default: {_PAIRS}.",
)
@click.option(
    "--find",
    metavar="PCT",
    type=compare.Finite(0, min_open=True),
    help="Measure until a shift of PCT % would have been found.",
)
@click.option(
    "--budget", metavar="TIME", callback=_seconds, help="Time limit, such as 30m. No pair begins that would end later."
)
@click.option(
    "--max-pairs", metavar="PAIRS", type=click.IntRange(1), help=f"Limit of pairs for --find. Default: {_MOST_PAIRS}."
)
@click.option("--arm", "given", metavar="ARM", multiple=True, help="base=DIR, base=REV, base:VAR=VALUE, measure=...")
@click.option(
    "--autoload", is_flag=True, help="Measure the cost of torch's backend autoload: base without, measure with."
)
@click.option("--setup", metavar="CMD", help="Prepare the worktree of each arm that is a git revision.")
@click.option("--keep", is_flag=True, help="Keep these worktrees at the end.")
@click.option("--warm-up/--no-warm-up", default=True, help="First run each arm once without counting it.")
@click.option(
    "--dir", "store", metavar="DIR", help=f"The store: default ${layout.STORE_VARIABLE}, {layout.LOCAL_STORE}."
)
@click.option("--name", metavar="NAME", help="Prefix of the names of the runs: default the time.")
@click.option("--resume", is_flag=True, help="Continue the earlier ab with that --name.")
@compare.comparison_options
@compare.form_options
@click.argument("command", metavar="-- CMD...", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def ab(
    context: click.Context,
    given: Sequence[str],
    autoload: bool,
    setup: str | None,
    keep: bool,
    warm_up: bool,
    store: str | None,
    name: str | None,
    resume: bool,
    command: Sequence[str],
    **asked: Any,
) -> int:
    """Alternate a command between two versions, and say faster, slower, same or no verdict.

    The order is base, measure, measure, base, and so on. It stops as soon as the conditions differ. On Ctrl-C it
    compares the runs made so far. With --find it continues until a shift of that size would have been found.
    """
    if not any(command[:1]):
        raise BadInputError("there is no command: give one after --, as in: ab --arm base=../main -- python test_x.py")
    if resume and name is None:
        raise BadInputError("--resume needs the --name of the experiment to continue")
    check_name(name)
    compare.check_allowed(asked)
    limits = _limits(context, asked)
    if autoload:
        asked["allow"] = (*asked["allow"], _GROUP)
    places = _places(given, autoload)
    _check_worktree_options(places, setup, keep)
    where = Path(os.path.abspath(store or os.environ.get(layout.STORE_VARIABLE) or layout.LOCAL_STORE))
    name = name or strftime("%Y%m%d-%H%M%S")
    with Interrupts() as interrupts, worktrees.prepared(places, setup, keep, say, interrupts):
        experiment = Experiment(places, where, name, list(command), say, interrupts, setup, resumes=resume)
        environments.check(places, command)
        _make_store(where)
        try:
            code = _measure(experiment, limits, asked, warm_up=warm_up, autoload=autoload)
        finally:
            try:
                flush()
            finally:
                with suppress(KeyboardInterrupt), interrupts.allowed():
                    _deliver(experiment.undelivered())
    return code


def _measure(experiment: Experiment, limits: Limits, asked: Mapping[str, Any], *, warm_up: bool, autoload: bool) -> int:
    """Measure, print the comparison, and return the exit code."""
    try:
        if warm_up:
            experiment.warm_up()
            comparison = _judge(experiment, asked, warm_up=True)
            if not comparison.gate.comparable:
                return _finish(comparison, asked, autoload)
        measure(experiment, limits, lambda: _judge(experiment, asked))
    except KeyboardInterrupt:
        hint = f"the runs are in {experiment.store}; to continue, add: --resume --name {experiment.name}"
        if not experiment.has_both:
            raise Failure(f"interrupted before there was anything to compare: {hint}", Exit.NO_VERDICT) from None
        say(f"interrupted: comparing the runs made so far; {hint}")
    return _finish(_judge(experiment, asked), asked, autoload)


def _deliver(runs: Sequence[Path]) -> None:
    """Deliver the runs after the last measurement. Problems don't change the exit code."""
    for run in runs:
        (run / layout.DELIVERY_LATER).unlink(missing_ok=True)
    if not runs or not destination.has_endpoint():
        return
    from opentelemetry.instrumentation.scenetest.cli.push import push_all
    from opentelemetry.instrumentation.scenetest.deliver import endpoint

    try:
        if (to := endpoint.from_environment()) is not None:
            push_all([run for run in runs if layout.journal_names(str(run))], to, say)
    except (BadInputError, Failure) as error:
        say(f"{error}; to send what is left: {PROGRAM} push")


def _limits(context: click.Context, asked: dict[str, Any]) -> Limits:
    """Return the limits of the measurement. Without `--margin`, the shift of `--find` becomes the margin.

    Raises:
        BadInputError: options contradict each other.
    """
    pairs, find, budget, most = (asked.pop(option) for option in ("pairs", "find", "budget", "max_pairs"))
    if find is None:
        if most is not None:
            raise BadInputError("--max-pairs limits --find; without it give the number of pairs by -n")
        return Limits(pairs or _PAIRS, budget)
    if pairs is not None:
        raise BadInputError(
            "-n fixes the number of pairs, and --find chooses it; limit that by --max-pairs or --budget"
        )
    if context.get_parameter_source("margin") is ParameterSource.DEFAULT:
        asked["margin"] = find
    return Limits(most or _MOST_PAIRS, budget, find / 100)


def _places(given: Sequence[str], autoload: bool) -> Mapping[str, Place]:
    if not autoload:
        return arms.parse(given)
    if any(VARIABLE in text for text in given):
        raise BadInputError(f"--autoload sets {VARIABLE} in both arms; leave it out of --arm")
    return arms.parse([*given, *arms.AUTOLOAD])


def _check_worktree_options(places: Mapping[str, Place], setup: str | None, keep: bool) -> None:
    if not any(place.revision for place in places.values()) and (setup is not None or keep):
        option = "--setup" if setup is not None else "--keep"
        raise BadInputError(f"{option} is for worktrees, and no arm is a git revision, as in --arm base=main")


def _make_store(store: Path) -> None:
    """Create the store before the first run. A run without a directory couldn't store its error messages."""
    try:
        run_file.make_store(str(store))
        if not os.access(store, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(store))
    except OSError as error:
        raise no_run_in(str(store), error) from error


def _judge(experiment: Experiment, asked: Mapping[str, Any], *, warm_up: bool = False) -> Comparison:
    """Compare the runs made so far."""
    read = experiment.read_warm_up if warm_up else experiment.read
    return compare.compared(read("base"), read("measure"), asked)


def _finish(comparison: Comparison, asked: Mapping[str, Any], autoload: bool) -> int:
    """Print the comparison, with the answer to `--autoload` first, and return the exit code."""
    if autoload and comparison.gate.comparable:
        from opentelemetry.instrumentation.scenetest.render.autoload_text import cost

        for line in cost(comparison):
            if asked["form"] == "json":
                say(line)
            else:
                print_line(console(), line, indent=4)
    return compare.finish(comparison, asked)
