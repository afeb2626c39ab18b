"""A benchmark that owns its Worker: no SceneTestCase; runs, submissions that are waited for, late, or never."""

import argparse
import time

from simpler.task_interface import ArgDirection as D
from simpler.task_interface import ChipCallable, TaskArgs
from simpler.worker import Worker


def scale(values: list[float]) -> None:
    values[:] = [2 * value for value in values]


def main(how: str, platform: str, runs: int) -> None:
    args = TaskArgs()
    args.add_tensor([1.0, 2.0], D.INOUT)
    worker = Worker(level=2, device_id=0, platform=platform, runtime="tensormap_and_ringbuffer")
    worker.init()
    handle = worker.register(ChipCallable("scale", scale, [D.INOUT]))
    if how == "run":
        for _ in range(runs):
            worker.run(handle, args)
    elif how == "submit":
        first = worker.submit(handle, args)
        try:
            first.wait(0)
        except TimeoutError:
            print("not yet")
        first.result()
        first.wait()
        worker.submit(handle, args)
    elif how == "never-waited":
        worker.submit(handle, args)
        time.sleep(0.05)
        return
    worker.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("how", nargs="?", choices=("run", "submit", "never-waited"), default="run")
    parser.add_argument("-p", "--platform", default="a2a3sim")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    main(given.how, given.platform, given.runs)
