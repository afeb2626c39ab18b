"""A benchmark of a matrix product, on a torch that is imported after `instrument()`."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()
import torch  # noqa: E402

with case("Matmul", "small", platform="cpu"):
    left = torch.rand(64, 64)
    for _ in range(6):
        with dispatch():
            product = left @ left
