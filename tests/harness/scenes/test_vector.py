"""L2: adds two vectors on one device; one case runs always, one only when asked for."""

from typing import Any

import torch
from simpler.task_interface import ArgDirection as D
from simpler_setup import SceneTestCase, TaskArgsBuilder, TensorArg, scene_test


def add(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(a + b)


@scene_test(level=2, runtime="tensormap_and_ringbuffer")
class TestVector(SceneTestCase):
    CALLABLE = {"orchestration": {"kernel": add, "signature": [D.IN, D.IN, D.OUT]}}
    CASES = [
        {
            "name": "default",
            "platforms": ["a2a3sim"],
            "config": {"aicpu_thread_num": 4, "runtime_env": {"ring_heap": 4096}},
            "params": {},
        },
        {"name": "no_golden", "platforms": ["a2a3sim"], "manual": True, "skip_golden": True, "params": {}},
    ]
    RUNTIME_ENV = {"PTO2_RING_HEAP": "1024"}

    def generate_args(self, params: dict[str, Any]) -> TaskArgsBuilder:
        return TaskArgsBuilder(
            TensorArg("a", torch.full((64,), 2.0)),
            TensorArg("b", torch.full((64,), 3.0)),
            TensorArg("out", torch.zeros(64)),
        )

    def compute_golden(self, args: TaskArgsBuilder, params: dict[str, Any]) -> None:
        args.out[:] = args.a + args.b


if __name__ == "__main__":
    SceneTestCase.run_module(__name__)
