"""L3 on one device: two kernels, one after the other."""

from typing import Any

import torch
from simpler.task_interface import ArgDirection as D
from simpler.task_interface import CallConfig, TaskArgs
from simpler.worker import Orchestrator
from simpler_setup import SceneTestCase, TaskArgsBuilder, TensorArg, scene_test


def increment(a: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(a + 1)


def run_dag(orch: Orchestrator, callables: Any, task_args: TaskArgsBuilder, config: CallConfig) -> None:
    for source, target in (("a", "b"), ("b", "c")):
        args = TaskArgs()
        args.add_tensor(task_args.ref(source))
        args.add_tensor(task_args.ref(target), D.OUT)
        orch.submit_next_level(callables.increment, args, config)


@scene_test(level=3, runtime="tensormap_and_ringbuffer")
class TestChain(SceneTestCase):
    CALLABLE = {
        "orchestration": run_dag,
        "callables": [{"name": "increment", "orchestration": {"kernel": increment, "signature": [D.IN, D.OUT]}}],
    }
    CASES = [{"name": "default", "platforms": ["a2a3sim"], "params": {}}]

    def generate_args(self, params: dict[str, Any]) -> TaskArgsBuilder:
        return TaskArgsBuilder(*(TensorArg(name, torch.zeros(16)) for name in ("a", "b", "c")))

    def compute_golden(self, args: TaskArgsBuilder, params: dict[str, Any]) -> None:
        args.b[:] = args.a + 1
        args.c[:] = args.b + 1


if __name__ == "__main__":
    SceneTestCase.run_module(__name__)
