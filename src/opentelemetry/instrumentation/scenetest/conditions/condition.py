"""One condition of a measurement, as the files of this package declare it."""

from __future__ import annotations

import os
from typing import Literal, NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opentelemetry.instrumentation.scenetest.conditions.values import Value


class Seen(NamedTuple):
    """What recording has seen of its process, for the observers.

    Attributes:
        autoload: what torch's backend autoload did, by attribute.
        harness: what the harness tells of itself, by attribute; empty where none is loaded.
        harness_name: name of the package below `harness/` whose harness is loaded; empty where none is.
        overhead: what an empty dispatch reads as, by attribute; None where that was not measured.
        thread: native id of the thread to look at; 0 for the main thread.
    """

    autoload: Mapping[str, Value]
    harness: Mapping[str, Value]
    harness_name: str
    overhead: Mapping[str, Value] | None = None
    thread: int = 0

    @property
    def native_id(self) -> int:
        """Native id of the thread to look at: that of the main thread is the id of the process."""
        return self.thread or os.getpid()


class Condition(NamedTuple):
    """One condition of a measurement.

    Attributes:
        attribute: the OpenTelemetry attribute that carries it.
        type: the type of its value; `UNKNOWN` is allowed beside it.
        scope: `process` holds for the process and may change while it lives, `case` for one case.
        use: a `ruler` condition must be equal before two timings may be compared, `context` is shown and never fatal.
        meaning: its values and unit.
        observed: how it is observed, with the source of the fact.
        why: why a difference in it makes two timings incomparable; empty for context.
        observe: observes it, None where it does not apply; absent for what the recorder is told with a case.
        moment: when it is observed. `now`: when a case opens, when it closes and when the process ends. `ends`: at the
            first look and when the process ends. `once`: at the first look, for what cannot change. `worker_init`:
            when the harness takes its own snapshot, else at the first case.
        schema: the version of the record that had it first.
        measured: its value is another one at every look, such as an amount of memory, so that no comparison lists that
            two runs differ in it.
        per_thread: each thread has a value of its own; that of the process is that of its main thread.
    """

    attribute: str
    type: type[str] | type[bool] | type[int] | type[float]
    scope: Literal["process", "case"]
    use: Literal["ruler", "context"]
    meaning: str
    observed: str
    why: str = ""
    observe: Callable[[Seen], Value | None] | None = None
    moment: Literal["now", "ends", "once", "worker_init"] = "now"
    schema: int = 1
    measured: bool = False
    per_thread: bool = False
