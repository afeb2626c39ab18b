"""Why a difference in a condition of the ruler makes two timings incomparable, in a line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opentelemetry.instrumentation.scenetest.conditions import CONDITIONS, VARIABLES

_BACKEND = "a backend that `import torch` loads takes the device, its memory and threads before anything is measured"
_TORCH = "arguments and golden are tensors of torch, made and copied by its threads on the CPUs of the measured process"
_WORKERS = "workers poll their mailboxes, so each one more takes a CPU from the measured process"
_RING = "the size of the rings decides whether a task waits for room"
_CPU = "host segments run on it"

WHY: Final[Mapping[str, str]] = {
    "torch.backend_autoload.effective": _BACKEND,
    "torch.backend_autoload.outcome": _BACKEND,
    "torch_npu.loaded": _BACKEND,
    "torch_npu.version": _BACKEND,
    "torch.imported": _TORCH,
    "torch.version": _TORCH,
    "torch.num_threads": _TORCH,
    "scenetest.stderr": "native markers are written to it inside the timed region: a bind of 31 us with a file takes "
    "52 with a pipe, 73 with a terminal",
    "scenetest.log_level": "it decides which native markers are written inside the timed region",
    **{
        variable.attribute: f"{variable.name} changes what the native code does or records ({variable.rule})"
        for variable in VARIABLES
    },
    "host.arch": _CPU,
    "host.cpu.model.name": _CPU,
    "scenetest.cpus": _CPU,
    "scenetest.level": "another level dispatches through other processes",
    "scenetest.platform": "a simulator and a device, or two devices, are different machines",
    "scenetest.runtime": "another runtime is another program",
    "scenetest.devices": "a dispatch waits for the slowest of its devices",
    "scenetest.workers.chip": _WORKERS,
    "scenetest.workers.sub": _WORKERS,
    "scenetest.workers.next_level": _WORKERS,
    "scenetest.sdma": "transfers take another path",
    "scenetest.prewarm": "it moves work out of the first round",
    "scenetest.aicpu_threads": "scheduling is shared by that many threads",
    "scenetest.ring.task_window": _RING,
    "scenetest.ring.heap": _RING,
    "scenetest.ring.dep_pool": _RING,
    "scenetest.golden_skipped": "the golden runs on the same CPUs between the rounds and leaves other caches behind",
    "scenetest.diagnostics": "collecting them is part of the measured time",
    "scenetest.sanitizer": "sanitized code is several times slower",
}


def why(attribute: str) -> str:
    """Return why a ruler condition matters; for one that has no line here what it means."""
    return WHY.get(attribute) or CONDITIONS[attribute].meaning
