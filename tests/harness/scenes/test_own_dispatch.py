"""Tests that dispatch themselves: an overridden test_run, a plain function, and a case that never calls Worker.run."""

from typing import Any

import pytest
from simpler import _native
from simpler.task_interface import ArgDirection as D
from simpler.task_interface import ChipCallable, TaskArgs
from simpler.worker import Worker
from simpler_setup import SceneTestCase, scene_test


def square(a: list[float], out: list[float]) -> None:
    out[:] = [value * value for value in a]


SQUARE = ChipCallable("square", square, [D.IN, D.OUT])


def arguments() -> TaskArgs:
    args = TaskArgs()
    args.add_tensor([3.0])
    args.add_tensor([0.0], D.OUT)
    return args


@scene_test(level=2, runtime="tensormap_and_ringbuffer")
class TestOwnRun(SceneTestCase):
    CALLABLE = {"orchestration": {"kernel": square, "signature": [D.IN, D.OUT]}}
    CASES = [{"name": "default", "platforms": ["a2a3sim"], "params": {}}]

    def test_run(self, st_platform: str, st_worker: Worker, request: Any) -> None:
        handle = st_worker.register(SQUARE)
        for _ in range(2):
            st_worker.run(handle, arguments())


@scene_test(level=2, runtime="tensormap_and_ringbuffer")
class TestNativeLifecycle(SceneTestCase):
    CALLABLE = {"orchestration": {"kernel": square, "signature": [D.IN, D.OUT]}}
    CASES = [{"name": "default", "platforms": ["a2a3sim"], "params": {}}]

    def _run_and_validate_l2(self, worker: Any, callable_obj: ChipCallable, *_: Any, **__: Any) -> None:
        _native.chip_run(callable_obj, arguments().tensors)


@pytest.mark.device_count(1)
@pytest.mark.runtime("tensormap_and_ringbuffer")
@pytest.mark.platforms(["a2a3sim"])
def test_plain_function(st_platform: str, st_device_ids: list[int]) -> None:
    worker = Worker(level=2, device_id=st_device_ids[0], platform=st_platform, runtime="tensormap_and_ringbuffer")
    worker.init()
    worker.run(worker.register(SQUARE), arguments())
    worker.close()


if __name__ == "__main__":
    SceneTestCase.run_module(__name__)
