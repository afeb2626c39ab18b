"""Runs a case in several processes, at the same time or one after the other, depending on the environment."""

import os
import time
from multiprocessing import get_context

from opentelemetry.instrumentation.scenetest import case, dispatch


def measure(number: int) -> None:
    with case("Sleep", f"case-{number}"):
        for _ in range(5):
            with dispatch():
                time.sleep(0.02)


if __name__ == "__main__":
    at_once = os.environ["AT_ONCE"] == "1"
    children = [get_context("fork").Process(target=measure, args=(number,)) for number in range(3)]
    for child in children:
        child.start()
        if not at_once:
            child.join()
    for child in children:
        child.join()
