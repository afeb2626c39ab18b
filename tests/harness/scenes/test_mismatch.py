"""L2: a kernel that computes the wrong thing, so that the comparison fails."""

from typing import Any

import torch
from simpler.task_interface import ArgDirection as D
from simpler_setup import SceneTestCase, TaskArgsBuilder, TensorArg, scene_test


def negate(a: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(-a)


@scene_test(level=2, runtime="host_build_graph")
class TestMismatch(SceneTestCase):
    CALLABLE = {"orchestration": {"kernel": negate, "signature": [D.IN, D.OUT]}}
    CASES = [{"name": "default", "platforms": ["a2a3sim"], "params": {}}]

    def generate_args(self, params: dict[str, Any]) -> TaskArgsBuilder:
        return TaskArgsBuilder(TensorArg("a", torch.ones(8)), TensorArg("out", torch.zeros(8)))

    def compute_golden(self, args: TaskArgsBuilder, params: dict[str, Any]) -> None:
        args.out[:] = args.a


if __name__ == "__main__":
    SceneTestCase.run_module(__name__)
