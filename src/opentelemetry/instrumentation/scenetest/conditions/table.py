"""All conditions of a measurement, and the ruler that they make.

This table is the only place that declares a condition. The recorder observes by it, the reader tells rulers apart by
it, the documentation is rendered from it. A condition that does not apply to a process or a case is absent from the
record; one that applies and was not observed has the value `UNKNOWN`, never a guess.
"""

from __future__ import annotations

import hashlib
from typing import Final

from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.conditions.ascend import ASCEND
from opentelemetry.instrumentation.scenetest.conditions.case import CASE
from opentelemetry.instrumentation.scenetest.conditions.condition import Seen
from opentelemetry.instrumentation.scenetest.conditions.harness import HARNESS
from opentelemetry.instrumentation.scenetest.conditions.host import HOST
from opentelemetry.instrumentation.scenetest.conditions.overhead import OVERHEAD
from opentelemetry.instrumentation.scenetest.conditions.python import PYTHON
from opentelemetry.instrumentation.scenetest.conditions.system import SYSTEM
from opentelemetry.instrumentation.scenetest.conditions.torch import TORCH
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, UNKNOWN, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from opentelemetry.instrumentation.scenetest.conditions.condition import Condition

CONDITIONS: Final = {
    condition.attribute: condition
    for condition in (*TORCH, *HARNESS, *ASCEND, *PYTHON, *SYSTEM, *HOST, *OVERHEAD, *CASE)
}
"""Every condition by its attribute, in the order in which they are shown."""

RULER: Final = tuple(condition.attribute for condition in CONDITIONS.values() if condition.use == "ruler")
"""Attributes that must be equal before two timings may be compared."""

PER_THREAD: Final = tuple(condition.attribute for condition in CONDITIONS.values() if condition.per_thread)
"""Attributes of which each thread has a value of its own."""


def observe(seen: Seen, moments: Container[str]) -> dict[str, Value]:
    """Observe the conditions of the process that are looked at at these moments; what fails is `unknown`."""
    return _observe(seen, [condition for condition in CONDITIONS.values() if condition.moment in moments])


def observe_thread(native_id: int) -> dict[str, Value]:
    """Observe the conditions that each thread has of its own; what fails is `unknown`.

    Args:
        native_id: the thread.
    """
    seen = Seen({}, {}, "", thread=native_id)
    return _observe(seen, [CONDITIONS[attribute] for attribute in PER_THREAD])


def _observe(seen: Seen, conditions: Iterable[Condition]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for condition in conditions:
        if condition.observe is None:
            continue
        try:
            value = condition.observe(seen)
        except Exception as error:
            faults.swallow(f"observe {condition.attribute}", error)
            value = UNKNOWN
        if value is not None:
            found[condition.attribute] = value
    return found


def younger_than(schema: int) -> list[str]:
    """Return the ruler conditions of a process that a record of this schema could not hold."""
    return [key for key in RULER if CONDITIONS[key].schema > schema and CONDITIONS[key].scope == "process"]


def changed(before: Mapping[str, Value], after: Mapping[str, Value]) -> list[str]:
    """Return the ruler conditions that differ between two sets, in the order of the table."""
    return [key for key in RULER if before.get(key) != after.get(key)]


def why(attribute: str) -> str:
    """Return why a ruler condition matters; for one without a reason what it means."""
    condition = CONDITIONS[attribute]
    return condition.why or condition.meaning


def ruler(process: Mapping[str, Value], case: Mapping[str, Value]) -> str:
    """Return `scenetest.ruler`: a short hash over the ruler conditions in force at a dispatch.

    Args:
        process: conditions of the process in force at the dispatch.
        case: attributes of its case; empty outside any case.

    Returns:
        Twelve hexadecimal digits, equal exactly when all ruler conditions are; `UNKNOWN` when one of them is, or was
        not recorded.
    """
    present = [(key, found) for key in RULER if (found := process.get(key, case.get(key))) is not None]
    if any(found in (UNKNOWN, NOT_RECORDED) for _, found in present):
        return UNKNOWN
    text = "\n".join(f"{key}={type(found).__name__}:{found!r}" for key, found in present)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12]
