"""Benchmarks of `pytest-benchmark`: calibrated, and with a fixed number of rounds."""

from __future__ import annotations

from typing import Any


def test_calibrated(benchmark: Any) -> None:
    benchmark(sum, range(100))


def test_pedantic(benchmark: Any) -> None:
    benchmark.pedantic(sum, args=(range(1000),), rounds=7, iterations=3, warmup_rounds=2)


def test_fails(benchmark: Any) -> None:
    benchmark.pedantic(int, args=("no number",), rounds=2)
