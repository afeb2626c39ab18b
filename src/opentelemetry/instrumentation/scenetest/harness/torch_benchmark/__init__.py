"""`torch.utils.benchmark`: its measurements become dispatches. We never import torch ourselves."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest.harness.modules import Library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.instrumentation.scenetest.harness.wrapping import Hook


def _hooks() -> Mapping[str, Sequence[Hook]]:
    from opentelemetry.instrumentation.scenetest.harness.torch_benchmark import hooks

    return hooks.HOOKS


LIBRARY = Library(("torch.utils.benchmark.utils.timer",), _hooks)
