"""The harnesses that are recorded: a package for each, with the functions of `record/harnesses.py`."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest.harness import simpler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.instrumentation.scenetest.record.harnesses import Harness

HARNESSES: tuple[Harness, ...] = (simpler,)
"""Every harness. A process records with the first one that is loaded in it."""
