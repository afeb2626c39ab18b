"""The arms of an experiment: where and in which environment each runs the one command."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opentelemetry.instrumentation.scenetest.errors import BadInputError

NAMES = ("base", "measure")


@dataclass
class Place:
    """Where an arm runs.

    Attributes:
        directory: the working directory.
        variables: what it changes in the environment.
    """

    directory: Path
    variables: dict[str, str] = field(default_factory=dict[str, str])

    def environment(self) -> dict[str, str]:
        """Return the environment of the arm, with the programs of its directory's own `.venv` first."""
        environment = dict(os.environ)
        venv = self.directory / ".venv"
        if (venv / "bin").is_dir():
            environment["VIRTUAL_ENV"] = str(venv)
            environment["PATH"] = os.pathsep.join([str(venv / "bin"), environment.get("PATH", os.defpath)])
        return {**environment, **self.variables}


def parse(given: Iterable[str]) -> Mapping[str, Place]:
    """Return the two arms that `--arm` describes, as `NAME=DIR` or `NAME:VARIABLE=VALUE`.

    Raises:
        BadInputError: one can't be understood, or neither arm is described.
    """
    places = {name: Place(Path.cwd()) for name in NAMES}
    seen: set[tuple[str, str]] = set()
    for text in given:
        head, equals, value = text.partition("=")
        name, colon, variable = head.partition(":")
        if name not in NAMES or not equals or (colon and not variable):
            raise BadInputError(f"--arm {text}: write base=DIR, measure=DIR, base:VAR=VALUE or measure:VAR=VALUE")
        if (name, variable) in seen:
            raise BadInputError(
                f"--arm {text}: {head} is given twice; an arm has one directory and one of each variable"
            )
        seen.add((name, variable))
        if colon:
            places[name].variables[variable] = value
        elif Path(value).is_dir():
            places[name].directory = Path(value).resolve()
        else:
            raise BadInputError(f"--arm {text}: there is no directory {value}")
    if not seen:
        raise BadInputError("ab needs its arms, as in: ab --arm base=../main --arm measure=. -- CMD")
    return places


def turns(pairs: int) -> Sequence[tuple[int, str]]:
    """Return number and name of each run in the order base, measure, measure, base, and so on."""
    forth, back = NAMES, NAMES[::-1]
    return [(pair + 1, name) for pair in range(pairs) for name in (back if pair % 2 else forth)]
