"""What a journal says about the process that wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from opentelemetry.instrumentation.scenetest.conditions.values import Value

Ended = Literal["clean", "lost", "not recorded", "not_seen", "running"]

_NAMES = ("service_name", "resource_attributes", "sdk_resource")


@dataclass(slots=True)
class ProcessRecord:
    """What a journal says about the process that wrote it.

    Attributes:
        path: the journal.
        facts: the fields of its `process` line.
        conditions: the set in force at the point that was read to; after the end the last one.
        ended: `clean` with an `end` line, `running` while its lock is held; else `lost` if a case or dispatch was
            open, and `not_seen` if none was: it may have gone on by exec, or ended by `os._exit`. `not recorded`
            for a run that was made of logs alone.
        sets: every set of conditions that was in force, in order.
        unobserved: the process was lost, and nobody looked at its conditions after its last dispatch began.
        unflushed: the program's own tracer provider was not flushed after the last span was made on it.
        torn_lines: lines that could not be read.
        repeated_lines: lines that say again what an earlier one says, or are older than one before them.
        foreign_lines: lines from where another process begins.
        incomplete: a write failed, so a missing end proves nothing.
    """

    path: Path
    facts: dict[str, Any]
    conditions: dict[str, Value]
    ended: Ended = "lost"
    torn_lines: int = 0
    repeated_lines: int = 0
    foreign_lines: int = 0
    incomplete: bool = False
    sets: list[dict[str, Value]] = field(default_factory=list[dict[str, Value]])
    unobserved: bool = False
    unflushed: bool = False

    @property
    def pid(self) -> int:
        """The process id."""
        return int(self.facts.get("pid", 0))

    def rename(self, line: Mapping[str, Any]) -> None:
        """Take what a later line says of how the program names itself to OpenTelemetry."""
        self.facts = {**self.facts, **dict.fromkeys(_NAMES), **{key: line[key] for key in _NAMES if key in line}}

    def unix_ns(self, monotonic_ns: int) -> int:
        """Return the wall-clock time of a monotonic one, by the process's one anchor, in Unix nanoseconds."""
        anchor = self.facts["anchor"]
        return monotonic_ns + int(anchor["unix_ns"]) - int(anchor["monotonic_ns"])
