"""What a user can ask of a comparison."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from opentelemetry.instrumentation.scenetest.analyse.compare import gate
from opentelemetry.instrumentation.scenetest.analyse.compare.concurrency import CONCURRENCY
from opentelemetry.instrumentation.scenetest.conditions.groups import GROUPS
from opentelemetry.instrumentation.scenetest.conditions.table import RULER
from opentelemetry.instrumentation.scenetest.errors import BadInputError


@dataclass(frozen=True)
class Options:
    """What the user can ask for.

    Attributes:
        cold: how many rounds are always dropped at the start.
        margin: equivalence margin, as a fraction: two times that differ by less are the same.
        resolution_ns: the smallest difference that is worth reporting, in nanoseconds.
        sum: names of spans or figures to add up within each round: the row that is tested. Empty for the dispatch.
        controls: rows that the change can't have affected.
        allow: ruler conditions whose differences are accepted, and names of `ALLOWED_BESIDE`.
    """

    cold: int = 1
    margin: float = 0.05
    resolution_ns: float = 100.0
    sum: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    allow: frozenset[str] = frozenset()

    @property
    def takes_failed(self) -> bool:
        """Whether runs and cases that failed are used."""
        return gate.ALLOW_FAILED in self.allow

    @property
    def accepts_concurrency(self) -> bool:
        """Whether repetitions are used that ran at the same time as other processes."""
        return CONCURRENCY in self.allow


ALLOWED_BESIDE = (gate.ALLOW_NOT_RECORDED, gate.ALLOW_FAILED, *gate.EXTRA)
"""What can be allowed in addition to the recorded ruler conditions."""


class OptionError(BadInputError):
    """A value that was asked for can't be used.

    Args:
        option: the field of `Options`.
        value: the value.
        reason: what is wrong with it, and a hint.
    """

    def __init__(self, option: Literal["sum", "controls", "allow"], value: str, reason: str) -> None:
        super().__init__(f"{value}: {reason}")
        self.option = option
        self.value = value
        self.reason = reason


def check_allowed(allow: Collection[str]) -> None:
    """Check that everything that is allowed could rule a comparison out.

    Raises:
        OptionError: a name is no ruler condition, group or other name that can be allowed.
    """
    possible = (*RULER, *ALLOWED_BESIDE)
    for key in sorted(set(allow) - set(possible)):
        near = get_close_matches(key, (*possible, *GROUPS), n=1, cutoff=0.4)
        hint = f"; do you mean {near[0]}?" if near else ""
        raise OptionError("allow", key, f"this is no condition of the ruler and no group of them{hint}")
