"""The one exception that a user sees: as a sentence, never as a traceback."""

from __future__ import annotations


class BadInputError(Exception):
    """Input that a command can't use. Its text is one sentence: the value, the rule, the way out. Exit code 2."""
