"""What a task is made of: a callable, its arguments, its configuration."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.shared_memory import SharedMemory
from typing import Any, NamedTuple


class ArgDirection(enum.Enum):
    IN = "in"
    OUT = "out"
    INOUT = "inout"


@dataclass
class RuntimeEnv:
    ring_task_window: int = 0
    ring_heap: int = 0
    ring_dep_pool: int = 0


@dataclass
class CallConfig:
    aicpu_thread_num: int = 0
    runtime_env: RuntimeEnv = field(default_factory=RuntimeEnv)
    enable_chip_swimlane: int = 0
    enable_dump_args: int = 0
    enable_pmu: int = 0
    enable_dep_gen: bool = False
    enable_scope_stats: bool = False
    output_prefix: str = ""


class ChipCallable(NamedTuple):
    """What the kernel compiler makes: here a Python function on tensors, there a binary."""

    name: str
    kernel: Callable[..., None]
    signature: Sequence[ArgDirection]


class CallableHandle(NamedTuple):
    slot_id: int


class BufferRef(NamedTuple):
    """A tensor in shared memory, as a forked child can find it."""

    shm_name: str
    dtype: Any
    shape: tuple[int, ...]


class TaskArgs:
    def __init__(self) -> None:
        self.tensors: list[Any] = []

    def add_tensor(self, tensor: Any, direction: ArgDirection = ArgDirection.IN) -> None:
        self.tensors.append(tensor)


class Buffer:
    """Born-shared memory: a POSIX segment that every child maps by name."""

    def __init__(self, nbytes: int) -> None:
        self.shm = SharedMemory(create=True, size=nbytes)

    def close(self) -> None:
        self.shm.close()
        self.shm.unlink()
