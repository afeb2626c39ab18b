"""The result of one attempt to export a batch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExportResult:
    """The answer to an accepted batch.

    Attributes:
        rejected: number of spans in it that the backend rejected.
        message: what the backend said about them.
    """

    rejected: int = 0
    message: str = ""


@dataclass
class ExportError(Exception):
    """A batch that was not accepted.

    Attributes:
        message: what happened, in the backend's words if it had some.
        hint: what to do about it; empty if there is nothing to do but wait.
        retryable: whether the same batch may be accepted later.
        retry_after: seconds that the backend asked to wait.
        too_large: whether a smaller batch may be accepted.
    """

    message: str
    hint: str = ""
    retryable: bool = False
    retry_after: float | None = None
    too_large: bool = False

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class EncodingError(Exception):
    """A batch with at least one span that the official encoder can't encode. Nothing was sent."""


def shortened(text: str, limit: int = 200) -> str:
    """Return a foreign text on one line, without terminal control characters, cut to a length."""
    line = "".join(char for char in " ".join(text[: 10 * limit].split()) if char.isprintable())
    return line if len(line) <= limit else line[: limit - 3] + "..."
