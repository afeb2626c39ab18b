"""The arms of an experiment: where and in which environment each runs the one command."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opentelemetry.instrumentation.scenetest.conditions.autoload_setting import VARIABLE
from opentelemetry.instrumentation.scenetest.errors import BadInputError

NAMES = ("base", "measure")
AUTOLOAD = (f"base:{VARIABLE}=0", f"measure:{VARIABLE}=1")
"""The arms that tell what torch's backend autoload costs."""


@dataclass
class Place:
    """Where an arm runs.

    Attributes:
        directory: the working directory.
        variables: what it changes in the environment.
        revision: the commit that a worktree is made of; "" for a directory that is there.
        inside: the directory below the root of that worktree.
    """

    directory: Path
    variables: dict[str, str] = field(default_factory=dict[str, str])
    revision: str = ""
    inside: str = ""

    @property
    def venv(self) -> Path:
        """The virtual environment in the directory, which need not be there."""
        return self.directory / ".venv"

    def environment(self) -> dict[str, str]:
        """Return the environment of the arm, with the programs of its directory's own `.venv` first."""
        environment = dict(os.environ)
        if (self.venv / "bin").is_dir():
            environment["VIRTUAL_ENV"] = str(self.venv)
            environment["PATH"] = os.pathsep.join([str(self.venv / "bin"), environment.get("PATH", os.defpath)])
        return {**environment, **self.variables}


def parse(given: Iterable[str]) -> Mapping[str, Place]:
    """Return the two arms that `--arm` describes, as `NAME=DIR`, `NAME=REV` or `NAME:VARIABLE=VALUE`.

    Raises:
        BadInputError: one can't be understood, or neither arm is described.
    """
    places = {name: Place(Path.cwd()) for name in NAMES}
    seen: set[tuple[str, str]] = set()
    for text in given:
        head, equals, value = text.partition("=")
        name, colon, variable = head.partition(":")
        if name not in NAMES or not equals or (colon and not variable):
            raise BadInputError(
                f"--arm {text}: write base=DIR, measure=DIR, base=REV, measure=REV, base:VAR=VALUE or measure:VAR=VALUE"
            )
        if (name, variable) in seen:
            raise BadInputError(
                f"--arm {text}: {head} is given twice; an arm has one directory and one of each variable"
            )
        seen.add((name, variable))
        if colon:
            places[name].variables[variable] = value
        elif Path(value).is_dir():
            places[name].directory = Path(value).resolve()
        elif revision := _commit(value):
            places[name].revision = revision
        else:
            raise BadInputError(f"--arm {text}: there is no directory {value}, and no git revision of that name here")
    if not seen:
        raise BadInputError("ab needs its arms, as in: ab --arm base=../main --arm measure=. -- CMD")
    return places


def _commit(revision: str) -> str:
    """Return the commit that a revision of the checkout in the working directory names; "" where there is none."""
    command = ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def turns(pairs: int) -> Sequence[tuple[int, str]]:
    """Return number and name of each run in the order base, measure, measure, base, and so on."""
    return [(pair, name) for pair in range(1, pairs + 1) for name in turn(pair)]


def turn(pair: int) -> Sequence[str]:
    """Return the order of the arms in one pair; the first pair has the number 1."""
    return NAMES if pair % 2 else NAMES[::-1]
