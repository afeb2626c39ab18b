"""The harnesses, benchmark and test libraries that are recorded, a package for each."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest.harness import pytest_benchmark, simpler, torch_benchmark, unittest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.instrumentation.scenetest.harness.modules import Library
    from opentelemetry.instrumentation.scenetest.record.harnesses import Harness

HARNESSES: tuple[Harness, ...] = (simpler,)
"""Every harness: a package with the functions of `record/harnesses.py`. A process records with the first loaded one."""

LIBRARIES: tuple[Library, ...] = (pytest_benchmark.LIBRARY, torch_benchmark.LIBRARY, unittest.LIBRARY)
"""Every benchmark or test library. Each may be used with or without a harness."""
