"""Numbers the rounds of a case."""

from __future__ import annotations

from _operator import index
from itertools import count

from opentelemetry.instrumentation.scenetest import faults


class RoundNumbers:
    """Numbers the dispatches of one case, or of one callable outside any case."""

    __slots__ = ("numbers",)

    def __init__(self) -> None:
        self.numbers = count()

    def go_on_from(self, given: int) -> int:
        """Return the round that the caller gave, and continue counting after it. Ignore it if it isn't an integer."""
        try:
            number = index(given)
        except TypeError as error:
            faults.swallow("take a round that is no whole number", error)
            return next(self.numbers)
        self.numbers = count(number + 1)
        return number
