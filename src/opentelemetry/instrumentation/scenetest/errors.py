"""What a user sees when something can't be done: as a sentence and an exit code, never as a traceback."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.instrumentation.scenetest.exits import Exit


class BadInputError(Exception):
    """Input that a command can't use. Its text is one sentence: the value, the rule, the way out. Exit code 2."""


class Failure(Exception):  # noqa: N818
    """A command could not do what it was asked for.

    Args:
        message: one sentence for the user.
        code: with what `scenetest-otel` then exits.
        reported: whether the command has printed its result, so that `--json` adds no second object.
    """

    def __init__(self, message: str, code: Exit, *, reported: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.reported = reported
