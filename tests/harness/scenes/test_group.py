"""L3: one kernel on two devices at once, then a Python task that depends on both."""

from typing import Any

import torch
from simpler.task_interface import ArgDirection as D
from simpler.task_interface import CallConfig, TaskArgs
from simpler.worker import Orchestrator
from simpler_setup import SceneTestCase, TaskArgsBuilder, TensorArg, scene_test


def double(a: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(a * 2)


def verify(args: TaskArgs) -> None:
    assert len(args.tensors) == 2


def run_dag(orch: Orchestrator, callables: Any, task_args: TaskArgsBuilder, config: CallConfig) -> None:
    ranks = [TaskArgs(), TaskArgs()]
    outputs = TaskArgs()
    for rank, args in enumerate(ranks):
        args.add_tensor(task_args.ref(f"a{rank}"))
        args.add_tensor(task_args.ref(f"f{rank}"), D.OUT)
        outputs.add_tensor(task_args.ref(f"f{rank}"))
    orch.submit_next_level_group(callables.double, ranks, config, workers=[0, 1])
    orch.submit_sub(callables.verify, outputs)


@scene_test(level=3, runtime="tensormap_and_ringbuffer")
class TestGroup(SceneTestCase):
    CALLABLE = {
        "orchestration": run_dag,
        "callables": [
            {"name": "double", "orchestration": {"kernel": double, "signature": [D.IN, D.OUT]}},
            {"name": "verify", "callable": verify},
        ],
    }
    CASES = [
        {
            "name": "default",
            "platforms": ["a2a3sim"],
            "config": {"device_count": 2, "num_sub_workers": 1},
            "params": {},
        }
    ]

    def generate_args(self, params: dict[str, Any]) -> TaskArgsBuilder:
        names = ("a0", "f0", "a1", "f1")
        return TaskArgsBuilder(*(TensorArg(name, torch.full((16,), float(index))) for index, name in enumerate(names)))

    def compute_golden(self, args: TaskArgsBuilder, params: dict[str, Any]) -> None:
        args.f0[:] = args.a0 * 2
        args.f1[:] = args.a1 * 2


if __name__ == "__main__":
    SceneTestCase.run_module(__name__)
