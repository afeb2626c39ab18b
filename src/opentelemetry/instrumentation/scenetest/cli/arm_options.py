"""Options and arguments of the commands that take arms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.sources.arms import JAEGER_VARIABLE

BETWEEN = "\0--"
"""Replaces the `--` between the arms while click parses the command line."""

Function = TypeVar("Function", bound=Callable[..., Any])


def source_options(function: Function) -> Function:
    """Add the options for the place of the runs of an arm."""
    store = click.option("--dir", "store", metavar="DIR", help="Look for runs in this store only.")
    jaeger = click.option(
        "--jaeger", metavar="URL", envvar=JAEGER_VARIABLE, help="The Jaeger of arms like jaeger:KEY=VALUE&..."
    )
    return store(jaeger(function))


def split_arms(words: Sequence[str], *, least: int) -> list[Sequence[str]]:
    """Return the arms: the words before and after the `--`.

    Raises:
        BadInputError: there are fewer than `least` arms, or one is empty.
    """
    at = words.index(BETWEEN) if BETWEEN in words else None
    arms = [words] if at is None else [words[:at], words[at + 1 :]]
    if len(arms) < least:
        raise BadInputError("there is one arm; put -- between two, as in: compare 'base-*' -- 'measure-*'")
    if not all(arms):
        raise BadInputError("an arm is empty; name its runs, as in: compare 'base-*' -- 'measure-*'")
    return arms
