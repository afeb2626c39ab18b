"""The arms of an experiment: the directory and environment in which each runs the same command."""

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
"""The arms that measure the cost of torch's backend autoload."""


@dataclass
class Place:
    """Where an arm runs.

    Attributes:
        directory: the working directory.
        variables: the environment variables that it sets.
        revision: the commit to check out in a worktree; "" if the arm runs in an existing directory.
        inside: the directory inside that worktree.
    """

    directory: Path
    variables: dict[str, str] = field(default_factory=dict[str, str])
    revision: str = ""
    inside: str = ""

    @property
    def venv(self) -> Path:
        """The path of the directory's virtual environment, which may not exist."""
        return self.directory / ".venv"

    def environment(self) -> dict[str, str]:
        """Return the environment of the arm. If its directory has a `.venv`, that comes first in `PATH`."""
        environment = dict(os.environ)
        if (self.venv / "bin").is_dir():
            environment["VIRTUAL_ENV"] = str(self.venv)
            environment["PATH"] = os.pathsep.join([str(self.venv / "bin"), environment.get("PATH", os.defpath)])
        return {**environment, **self.variables}


def parse(given: Iterable[str]) -> Mapping[str, Place]:
    """Return the two arms that `--arm` describes, as `NAME=DIR`, `NAME=REV` or `NAME:VARIABLE=VALUE`.

    Raises:
        BadInputError: a description is malformed, or there is none.
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
    """Return the commit of a revision in the working directory's checkout; "" if there is no such revision."""
    command = ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def turns(pairs: int) -> Sequence[tuple[int, str]]:
    """Return the pair number and the arm of each run, in the order base, measure, measure, base, and so on."""
    return [(pair, name) for pair in range(1, pairs + 1) for name in turn(pair)]


def turn(pair: int) -> Sequence[str]:
    """Return the order of the arms in one pair. The first pair has number 1."""
    return NAMES if pair % 2 else NAMES[::-1]
