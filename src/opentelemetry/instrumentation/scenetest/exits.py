"""The exit codes of `scenetest-otel`."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of `scenetest-otel`. The last three are those of `env` and belong to `run` alone."""

    DONE = 0
    FAULT = 1
    BAD_INPUT = 2
    NOT_DELIVERED = 3
    NOT_THE_SAME_RULER = 4
    SLOWER = 5
    CHECK_FAILED = 6
    NO_VERDICT = 7
    RUN_FAULT = 125
    NOT_EXECUTABLE = 126
    NOT_FOUND = 127
