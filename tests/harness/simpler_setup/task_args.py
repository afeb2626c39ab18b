"""Arguments of a case: built by the test, rehosted into shared memory where they must cross a process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from simpler.task_interface import ArgDirection, Buffer, BufferRef, TaskArgs
from simpler.worker import Worker


class TensorArg(NamedTuple):
    name: str
    value: Any


class TaskArgsBuilder:
    def __init__(self, *specs: TensorArg) -> None:
        self._data = {spec.name: spec.value for spec in specs}
        self._rehost_handles: dict[str, Buffer] = {}

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_data"][name]
        except KeyError:
            raise AttributeError(name) from None

    def tensor_names(self) -> list[str]:
        return list(self._data)

    def clone(self) -> TaskArgsBuilder:
        return TaskArgsBuilder(*(TensorArg(name, tensor.clone()) for name, tensor in self._data.items()))

    def ref(self, name: str) -> BufferRef:
        tensor = self._data[name]
        return BufferRef(self._rehost_handles[name].shm.name, tensor.dtype, tuple(tensor.shape))


class _RehostedTaskArgs:
    """Moves a builder's tensors into buffers that the forked children can map."""

    def __init__(self, worker: Worker, test_args: TaskArgsBuilder) -> None:
        import torch

        self._test_args = test_args
        self._originals = dict(test_args._data)
        for name, tensor in self._originals.items():
            handle = worker.create_buffer(tensor.numel() * tensor.element_size())
            view = torch.frombuffer(handle.shm.buf, dtype=tensor.dtype, count=tensor.numel()).view(tensor.shape)
            view.copy_(tensor)
            test_args._rehost_handles[name] = handle
            test_args._data[name] = view

    def release(self) -> None:
        self._test_args._data = dict(self._originals)
        for handle in self._test_args._rehost_handles.values():
            handle.close()
        self._test_args._rehost_handles.clear()


def _build_l2_ref_args(
    test_args: TaskArgsBuilder, orch_signature: Sequence[ArgDirection], worker: Worker
) -> tuple[TaskArgs, list[str]]:
    """The arguments that an L2 run consumes in this process, and the names of its outputs."""
    args = TaskArgs()
    outputs: list[str] = []
    for name, direction in zip(test_args.tensor_names(), orch_signature, strict=True):
        args.add_tensor(getattr(test_args, name), direction)
        if direction is not ArgDirection.IN:
            outputs.append(name)
    return args, outputs
