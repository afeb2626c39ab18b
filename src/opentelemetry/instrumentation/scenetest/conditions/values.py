"""What the value of a condition can be."""

from __future__ import annotations

from typing import Final, TypeAlias

Value: TypeAlias = "str | bool | int | float"
"""What an attribute can be: Jaeger matches attributes as strings, so lists are comma-separated text."""

UNKNOWN: Final = "unknown"
"""The value of a condition that applies but was not observed. It equals nothing, not even itself."""

NOT_RECORDED: Final = "not recorded"
"""The value of a condition that the record could not hold: it is older than the condition, or made from a log alone."""
