"""`unittest`: how a test ends is told to the cases that its `setUp` opened. We never import unittest ourselves."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest.harness.modules import Library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.instrumentation.scenetest.harness.wrapping import Hook


def _hooks() -> Mapping[str, Sequence[Hook]]:
    from opentelemetry.instrumentation.scenetest.harness.unittest import hooks

    return hooks.HOOKS


LIBRARY = Library(("unittest.case",), _hooks)
