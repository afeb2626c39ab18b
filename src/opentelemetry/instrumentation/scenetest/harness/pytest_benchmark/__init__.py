"""`pytest-benchmark`: its rounds become dispatches. We do not depend on it: hooks apply only where it is imported."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest.harness.modules import Library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.instrumentation.scenetest.harness.wrapping import Hook


def _hooks() -> Mapping[str, Sequence[Hook]]:
    from opentelemetry.instrumentation.scenetest.harness.pytest_benchmark import hooks

    return hooks.HOOKS


LIBRARY = Library(("pytest_benchmark.fixture", "pytest_benchmark.stats"), _hooks)
