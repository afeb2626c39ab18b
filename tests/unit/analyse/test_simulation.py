"""The error rates that the verdict promises, on real processes; benchmarks/verdict.py is the same with more draws."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from opentelemetry.instrumentation.scenetest.analyse.stats.verdict import Verdict

BENCHMARK = runpy.run_path(str(Path(__file__).parents[3] / "benchmarks" / "verdict.py"))
CHANGES, rule, turns, drawn, ramp, made, windows = (
    BENCHMARK[name] for name in ("CHANGES", "rule", "turns", "drawn", "ramp", "made", "windows")
)
Noise = dict[str, dict[str, NDArray[np.float64]]]


@pytest.fixture(scope="module")
def noise() -> Noise:
    return BENCHMARK["load"]()


@pytest.mark.parametrize(("pool", "block", "pairs"), [("quiet", "BM", 4), ("loaded", "BMMB", 4), ("loaded", "BMMB", 8)])
def test_equal_arms_are_called_different_in_at_most_5_percent(noise: Noise, pool: str, block: str, pairs: int):
    random = np.random.default_rng(1)
    arms = turns(block, pairs)
    samples = [sample for rows in noise[pool].values() for sample in drawn(rows, pairs, 60, random)]
    assert np.mean([rule(sample, arms) in CHANGES for sample in samples]) <= 0.05


def test_a_shift_of_5_percent_is_found_at_4_pairs_where_the_scatter_is_a_third_of_it():
    arms = turns("BM", 4)
    verdicts = [rule(sample, arms, cold=0) for sample in made(0.015, 0.05, arms, 800, 1)]
    assert np.mean([verdict is Verdict.SLOWER for verdict in verdicts]) >= 0.9


def test_a_steep_ramp_of_load_is_not_called_a_change(noise: Noise):
    arms = turns("BM", 4)
    samples = list(ramp(drawn(noise["quiet"]["bind"], 4, 200, np.random.default_rng(1)), 0.5))
    agreeing = [BENCHMARK["by_signs"](sample, arms, None) for sample in samples]
    assert np.mean(agreeing) > 0.9
    assert np.mean([rule(sample, arms) in CHANGES for sample in samples]) <= 0.05


def test_arms_one_after_the_other_are_never_called_a_change(noise: Noise):
    arms = turns("B", 4)
    samples = [sample for rows in noise["a2"].values() for sample in list(windows(rows, 4))[:30]]
    assert not any(rule(sample, arms) in CHANGES for sample in samples)
