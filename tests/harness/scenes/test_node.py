"""L3 without tensors: its file does not import torch, which comes in with the rehosting of arguments."""

from typing import Any

from simpler.task_interface import CallConfig, TaskArgs
from simpler.worker import Orchestrator
from simpler_setup import SceneTestCase, TaskArgsBuilder, scene_test


def verify(args: TaskArgs) -> None:
    assert args.tensors == []


def run_dag(orch: Orchestrator, callables: Any, task_args: TaskArgsBuilder, config: CallConfig) -> None:
    orch.submit_sub(callables.verify, TaskArgs())


@scene_test(level=3, runtime="tensormap_and_ringbuffer")
class TestNode(SceneTestCase):
    CALLABLE = {"orchestration": run_dag, "callables": [{"name": "verify", "callable": verify}]}
    CASES = [{"name": "default", "platforms": ["a2a3sim"], "config": {"num_sub_workers": 1}, "skip_golden": True}]

    def generate_args(self, params: dict[str, Any]) -> TaskArgsBuilder:
        return TaskArgsBuilder()


if __name__ == "__main__":
    SceneTestCase.run_module(__name__)
