"""A benchmark of a matrix product on CPU torch. Three of its lines are for recording."""

from __future__ import annotations

import argparse
import os

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument, phase

instrument()

import torch  # noqa: E402

PRODUCTS = int(os.environ.get("PRODUCTS", "10"))
"""Number of products per round. Change it to simulate a change of the program."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--size", type=int, default=256)
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    with case("Matmul", f"{arguments.size}x{arguments.size}", platform="cpu", rounds=arguments.rounds):
        with phase("args"):
            left, right = torch.rand(arguments.size, arguments.size), torch.rand(arguments.size, arguments.size)
        for _ in range(arguments.rounds):
            with dispatch():
                for _ in range(PRODUCTS):
                    torch.matmul(left, right)


if __name__ == "__main__":
    main()
