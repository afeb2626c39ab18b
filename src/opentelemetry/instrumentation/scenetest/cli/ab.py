"""`scenetest-otel ab`: one command in two places, taking turns, and the comparison at the end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from time import strftime
from typing import Any

import click

from opentelemetry.instrumentation.scenetest.cli.compare import comparison_options, finish, form_options, is_same_ruler
from opentelemetry.instrumentation.scenetest.cli.defaults import WithDefaults
from opentelemetry.instrumentation.scenetest.cli.exits import say
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.rundir import layout
from opentelemetry.instrumentation.scenetest.runner import arms as places
from opentelemetry.instrumentation.scenetest.runner.experiment import Experiment
from opentelemetry.instrumentation.scenetest.runner.interrupts import Interrupts
from opentelemetry.instrumentation.scenetest.sources.stores import LOCAL_STORE


@click.command(cls=WithDefaults, context_settings={"allow_interspersed_args": False})
@click.option("-n", "pairs", type=click.IntRange(1), default=4, show_default=True, help="Pairs; a verdict needs 4.")
@click.option("--arm", "given", metavar="ARM", multiple=True, help="base=DIR, measure=DIR, base:VAR=VALUE, ...")
@click.option("--dir", "store", metavar="DIR", help=f"The store: default ${layout.STORE_VARIABLE}, {LOCAL_STORE}.")
@click.option("--name", metavar="NAME", help="What the names of the runs begin with: default the time.")
@comparison_options
@form_options
@click.argument("command", metavar="-- CMD...", nargs=-1, type=click.UNPROCESSED)
def ab(
    pairs: int, given: Sequence[str], store: str | None, name: str | None, command: Sequence[str], **asked: Any
) -> int:
    """Run a command in two checkouts or environments, taking turns, and compare.

    The order is base, measure, measure, base, and so on. It stops after the first pair if the rulers differ, and on
    Ctrl-C with what it has.
    """
    if not any(command[:1]):
        raise BadInputError("there is no command: give one after --, as in: ab --arm base=../main -- python test_x.py")
    where = os.path.abspath(store or os.environ.get(layout.STORE_VARIABLE) or LOCAL_STORE)
    arms, name = places.parse(given), name or strftime("%Y%m%d-%H%M%S")
    with Interrupts() as interrupts:
        experiment = Experiment(arms, Path(where), name, list(command), say, interrupts)
        try:
            for number, (pair, arm) in enumerate(places.turns(pairs)):
                experiment.run(pair, arm, left=2 * pairs - number)
                if number == 1:
                    experiment.check_first_pair()
                    if not is_same_ruler(experiment.read("base"), experiment.read("measure"), asked):
                        break
        except KeyboardInterrupt:
            say(f"interrupted: comparing what there is; the runs are in {where}")
    return finish(experiment.read("base"), experiment.read("measure"), asked)
