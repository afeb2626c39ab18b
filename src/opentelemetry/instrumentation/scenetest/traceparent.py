"""What a span hands on to the spans below it, and how `TRACEPARENT` and `TRACESTATE` say it.

By the rules of OpenTelemetry's own propagator, and without importing it: https://www.w3.org/TR/trace-context/.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SAMPLED_FLAG = 1
RANDOM_FLAG = 2
"""The trace id was drawn at random, as ours are."""

_HEADER = re.compile(r"[ \t]*([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:(-.*)|[ \t]*)$")
_LONGEST = 512
"""Characters of a header that the API reads at most."""


class Carried:
    """What all spans of a trace have in common within a process.

    Args:
        flags: the W3C trace flags. Spans without the sampled flag are recorded and not delivered.
        state: the W3C `tracestate` header; empty for none.
        handed_on: the flags that spans of others below ours see, where those are not the same.
    """

    __slots__ = ("flags", "handed_on", "state")

    def __init__(self, flags: int = SAMPLED_FLAG | RANDOM_FLAG, state: str = "", handed_on: int | None = None) -> None:
        self.flags = flags
        self.state = state
        self.handed_on = flags if handed_on is None else handed_on

    @property
    def is_sampled(self) -> bool:
        """Whether spans of this trace are delivered."""
        return bool(self.flags & SAMPLED_FLAG)

    def not_random(self) -> Carried:
        """Return the same for a trace whose id was not drawn at random."""
        return Carried(self.flags & ~RANDOM_FLAG, self.state, self.handed_on & ~RANDOM_FLAG)

    def fields(self) -> dict[str, int | str]:
        """Return what the journal says of it: nothing for a trace of our own that is sampled."""
        flags: dict[str, int | str] = {} if self.flags == SAMPLED.flags else {"flags": self.flags}
        return {**flags, "tracestate": self.state} if self.state else flags


SAMPLED = Carried()


class Parent:
    """The span that a case continues.

    Args:
        trace: its trace id in hexadecimal.
        span: its span id in hexadecimal.
        carried: what it hands on.
        remote: whether it is a span of another process.
    """

    __slots__ = ("carried", "id", "remote", "trace")

    def __init__(self, trace: str, span: str, carried: Carried = SAMPLED, *, remote: bool = False) -> None:
        self.trace = trace
        self.id = span
        self.carried = carried
        self.remote = remote


def from_environment(environment: Mapping[str, str]) -> Parent | None:
    """Return the parent that `TRACEPARENT` and `TRACESTATE` name; None where the API would refuse it."""
    return parse(environment.get("TRACEPARENT", ""), environment.get("TRACESTATE", ""))


def parse(header: str, state: str = "") -> Parent | None:
    """Return the parent that a `traceparent` header names; None where the API would refuse it."""
    found = _HEADER.match(header) if len(header) <= _LONGEST else None
    if found is None:
        return None
    version, trace, span, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or not (int(trace, 16) and int(span, 16)):
        return None
    return Parent(trace, span, Carried(int(flags, 16), state if len(state) <= _LONGEST else ""), remote=True)
