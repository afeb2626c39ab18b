"""Observes the conditions of this process, and identifies it.

It doesn't import what it observes, call into a device or change anything. A fact that can't be read is `unknown`.
"""

from __future__ import annotations

import os
import sys

from opentelemetry.instrumentation.scenetest import faults, masking
from opentelemetry.instrumentation.scenetest.clock import monotonic_ns, unix_ns
from opentelemetry.instrumentation.scenetest.conditions import logline, table
from opentelemetry.instrumentation.scenetest.conditions.condition import Seen
from opentelemetry.instrumentation.scenetest.record import autoload, context
from opentelemetry.instrumentation.scenetest.record.state import state
from opentelemetry.instrumentation.scenetest.rundir import liveness, run_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.instrumentation.scenetest.conditions.values import Value
    from opentelemetry.instrumentation.scenetest.record.harnesses import Harness

_TIMING = 25


class Observer:
    """Observes the conditions of this process, and keeps those that need no second observation.

    Attributes:
        noted_at: when `Worker.init` was last entered, in monotonic nanoseconds. The harness takes its snapshot there.
    """

    def __init__(self) -> None:
        self.noted_at = 0
        self._once: dict[str, Value] | None = None
        self._ends: dict[str, Value] | None = None
        self._noted: dict[str, Value] | None = None
        self._harness: dict[str, Value] | None = None

    def conditions(self, *, at_end: bool = False) -> dict[str, Value]:
        """Return every condition of the process as it is now.

        Args:
            at_end: whether the process ends. If so, observe again the conditions that are too slow to observe per case.
        """
        seen = self._seen(autoload.observe())
        if self._once is None:
            self._once = table.observe(seen._replace(overhead=_overhead()), ("once",))
        if self._ends is None or at_end:
            self._ends = table.observe(seen, ("ends",))
        noted = table.observe(seen, ("worker_init",)) if self._noted is None else self._noted
        found = {**self._once, **self._ends, **noted, **table.observe(seen, ("now",))}
        return {attribute: found[attribute] for attribute in table.CONDITIONS if attribute in found}

    def note_first_case(self) -> None:
        """Observe the conditions of `Worker.init` now, unless a `Worker.init` was already seen."""
        if self._noted is None:
            self.note_worker_init()

    def note_worker_init(self) -> None:
        """Observe the conditions that the harness reads in `Worker.init`. Called when it is entered."""
        self.noted_at = monotonic_ns()
        noted = table.observe(self._seen({}), ("worker_init",))
        files = "scenetest.device_files"
        if self._noted is not None and files in self._noted:
            # A later Worker would also see the files that the first one opened.
            noted[files] = self._noted[files]
        self._noted = noted

    def expire(self) -> None:
        """Read the conditions of the harness again next time: `Worker.init` loads native libraries."""
        self._harness = None

    def _seen(self, of_autoload: Mapping[str, Value]) -> Seen:
        harness = state.harness
        if harness is None or not harness.is_loaded():
            return Seen(of_autoload, {}, "")
        if self._harness is None:
            self._harness = _conditions_of(harness)
        return Seen(of_autoload, self._harness, harness.__name__.rpartition(".")[2])


observer = Observer()


def identity() -> dict[str, object]:
    """Return the fields of the `process` line, without the conditions and without those of `service()`."""
    return {
        **liveness.identity(),
        "parent_pid": os.getppid(),
        "anchor": {"monotonic_ns": monotonic_ns(), "unix_ns": unix_ns()},
        "command": masking.recorded(sys.orig_argv),
        "executable": sys.executable,
        "name": run_file.script_of_process(),
        "python": ".".join(map(str, sys.version_info[:3])),
    }


def service() -> dict[str, object]:
    """Return the fields with which the program identifies itself to OpenTelemetry.

    They can change: the program may set a tracer provider at any time.
    """
    return {
        "service_name": os.environ.get("OTEL_SERVICE_NAME"),
        "resource_attributes": os.environ.get("OTEL_RESOURCE_ATTRIBUTES"),
        "sdk_resource": context.sdk_identity(state.tracer_provider),
    }


def log(found: Mapping[str, Value]) -> None:
    """Log the line on torch's autoload, unless the harness logs it itself.

    It uses the harness's root logger, because the loggers of its modules drop the level TIMING. If `logging` was never
    imported, nobody configured it, and the line would not be printed; then this does nothing.

    Args:
        found: the conditions.
    """
    if state.harness is not None and state.harness.logs_autoload():
        return
    logging = faults.loaded_logging()
    if logging is not None:
        logging.getLogger("simpler").log(_TIMING, "%s", logline.log_line(found))


def _overhead() -> dict[str, Value]:
    from opentelemetry.instrumentation.scenetest.record import overhead

    try:
        return overhead.measure(state.directory)
    except Exception as error:
        faults.swallow("measure what an empty dispatch reads as", error)
        return {}


def _conditions_of(harness: Harness) -> dict[str, Value]:
    try:
        return harness.conditions()
    except Exception as error:
        faults.swallow("tell which harness this is", error)
        return {}
