"""Measures how often `ab --find` is wrong, how often it finds the wanted shift, and how many pairs it needs.

    python benchmarks/sequential.py [--experiments N] [--row TEXT]

Every row is one kind of noise between processes: made, or real processes of the harness drawn at random
(tests/data/noise.json.gz, described in docs/explanation/verdict.md). "Naive" looks after every pair and stops at the
first verdict of 5 %. The second table has runs of several cases, which Holm's method judges together. Prints the tables
of that page; half an hour at the default.
"""

# scipy's types rest on numpy's, which are half unknown when read for Python 3.10.
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import argparse
import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from opentelemetry.instrumentation.scenetest.analyse.stats.fit import ALPHA, FEWEST_PAIRS, fit
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm, order
from opentelemetry.instrumentation.scenetest.analyse.stats.sequential import EARLY_LEVEL, MOST_PAIRS, Plan, ends_early
from opentelemetry.instrumentation.scenetest.analyse.stats.verdict import (
    Evidence,
    Reason,
    Verdict,
    decide,
    gather,
    holm,
)

Floats = NDArray[np.float64]
Noise = Callable[[np.random.Generator], Floats]
"""Draws the log times of all processes of one experiment."""

SEED = 20261201
FIND = 0.05
LARGE = 0.2
FLOOR_NS = 100.0
PROCESSES = 2 * MOST_PAIRS
CHANGES = (Verdict.SLOWER, Verdict.FASTER)
ARMS = [Arm.BASE if letter == "B" else Arm.MEASURE for letter in "BMMB" * (MOST_PAIRS // 2)]
CODES = np.array([arm.code for arm in ARMS]) + 0.5


@dataclass(frozen=True)
class Outcome:
    """How one experiment ended."""

    verdict: Verdict
    pairs: int


def gathered(logs: Floats, pairs: int) -> Evidence:
    """Fit the first pairs as `compare` does."""
    times = 1e6 * np.exp(logs[: 2 * pairs])
    places = range(2 * pairs)
    return gather(times, times, order(ARMS[: 2 * pairs], places, places), FLOOR_NS, FIND)


def judged(logs: Floats, pairs: int) -> tuple[Reason, float]:
    """Judge the first pairs as `compare` does; returns the rule that decided, and p."""
    evidence = gathered(logs, pairs)
    return decide(evidence), evidence.p


def sequential(logs: Floats) -> Outcome:
    """Measure pair after pair, as `ab --find` does."""
    plan, pairs = Plan(np.log1p(FIND)), FEWEST_PAIRS
    while True:
        estimate = fit(logs[: 2 * pairs], ARMS[: 2 * pairs])
        plan = plan.after(pairs, estimate.scatter)
        # Compute the whole verdict only if it can matter: it takes ten times as long.
        if plan.is_complete(pairs) or (estimate.p <= EARLY_LEVEL and ends_early(*judged(logs, pairs))):
            return Outcome(judged(logs, pairs)[0].verdict, pairs)
        pairs += 1


def together(cases: list[Floats], family: int) -> tuple[list[Verdict], int]:
    """Measure several cases pair after pair, as `ab --find` does.

    Args:
        cases: the log times of each.
        family: how many cases the plan expects Holm's method to correct for. 1 is a plan that forgets it.

    Returns:
        The verdict on each case, and how many pairs that took.
    """
    plan, pairs = Plan(np.log1p(FIND), family=family), FEWEST_PAIRS
    while True:
        estimates = [fit(logs[: 2 * pairs], ARMS[: 2 * pairs]) for logs in cases]
        plan = plan.after(pairs, max(one.scatter for one in estimates))
        complete = plan.is_complete(pairs)
        if complete or all(one.p <= EARLY_LEVEL for one in estimates):
            evidence = [gathered(logs, pairs) for logs in cases]
            adjusted = holm([one.p for one in evidence])
            reasons = [decide(one, holm_p=p) for one, p in zip(evidence, adjusted, strict=True)]
            if complete or all(ends_early(reason, p) for reason, p in zip(reasons, adjusted, strict=True)):
                return [reason.verdict for reason in reasons], pairs
        pairs += 1


def naive(logs: Floats) -> Outcome:
    """Stop at the first significant look."""
    for pairs in range(FEWEST_PAIRS, MOST_PAIRS + 1):
        if fit(logs[: 2 * pairs], ARMS[: 2 * pairs]).p <= ALPHA:
            verdict = judged(logs, pairs)[0].verdict
            if verdict in CHANGES:
                return Outcome(verdict, pairs)
    return Outcome(Verdict.UNRESOLVED, MOST_PAIRS)


def normal(scatter: float) -> Noise:
    """Independent processes."""
    return lambda random: random.normal(0, scatter, PROCESSES)


def autocorrelated(scatter: float, correlation: float = 0.5) -> Noise:
    """Each process is correlated with the one before it."""
    innovation = scatter * np.sqrt(1 - correlation**2)

    def draw(random: np.random.Generator) -> Floats:
        settled = lfilter([innovation], [1, -correlation], random.normal(0, 1, PROCESSES + 50))
        return np.asarray(settled, dtype=np.float64)[50:]

    return draw


def heavy_tails(scatter: float) -> Noise:
    """Student's t with 3 degrees of freedom: sometimes a process is an outlier."""
    return lambda random: scatter * random.standard_t(3, PROCESSES) / np.sqrt(3)


def ramp(scatter: float, slope: float = 0.003) -> Noise:
    """Every process is slower than the one before by the same fraction."""
    return lambda random: random.normal(0, scatter, PROCESSES) + slope * np.arange(PROCESSES)


def step(scatter: float, height: float = 0.1) -> Noise:
    """From one process on, everything is slower."""

    def draw(random: np.random.Generator) -> Floats:
        logs = random.normal(0, scatter, PROCESSES)
        logs[random.integers(PROCESSES) :] += np.log1p(height)
        return logs

    return draw


def real(rows: Floats) -> Noise:
    """The fastest warm round of real processes, drawn with replacement."""
    minima: Floats = np.log(rows[:, 1:].min(axis=1))
    return lambda random: minima[random.integers(len(minima), size=PROCESSES)]


def noises() -> dict[str, Noise]:
    """The rows of the table."""
    pools: Mapping[str, Mapping[str, Floats]] = runpy.run_path(str(Path(__file__).with_name("verdict.py")))["load"]()
    segments = ("a2", "bind"), ("a2", "orch"), ("a5", "bind"), ("a2", "validate")
    return {
        "normal, scatter 2 %": normal(0.02),
        "normal, scatter 4 %": normal(0.04),
        "normal, scatter 7 %": normal(0.07),
        "autocorrelated (.5), scatter 4 %": autocorrelated(0.04),
        "heavy tails (t, 3 df), scatter about 4 %": heavy_tails(0.04),
        "ramp of .3 % a run, scatter 4 %": ramp(0.04),
        "a step of 10 % somewhere, scatter 4 %": step(0.04),
        **{f"real processes, {pool} {segment}": real(pools[pool][segment]) for pool, segment in segments},
    }


def experiments(
    noise: Noise, shift: float, number: int, method: Callable[[Floats], Outcome] = sequential, seed: int = SEED
) -> list[Outcome]:
    """Run experiments in which the measure is slower by a given fraction."""
    random = np.random.default_rng(seed)
    moved = np.log1p(shift) * CODES
    return [method(noise(random) + moved) for _ in range(number)]


def share(outcomes: list[Outcome], *verdicts: Verdict) -> float:
    """Return how many experiments ended with one of these verdicts, in percent."""
    return 100 * float(np.mean([one.verdict in verdicts for one in outcomes]))


def mean_pairs(outcomes: list[Outcome]) -> float:
    """How many pairs an experiment took."""
    return float(np.mean([one.pairs for one in outcomes]))


HEAD = (
    "noise",
    "called a change, equal arms, %",
    "called `same`, equal arms, %",
    "found at 5 %, %",
    "called `same` at 5 %, %",
    "pairs, equal arms",
    "pairs at 20 %",
    "naive: called a change, equal arms, %",
)


def row(name: str, noise: Noise, number: int) -> str:
    """One line of the table."""
    equal = experiments(noise, 0, number)
    apart = experiments(noise, FIND, number // 2)
    far = experiments(noise, LARGE, number // 4)
    careless = experiments(noise, 0, number // 2, naive)
    cells = (
        share(equal, *CHANGES),
        share(equal, Verdict.SAME),
        share(apart, Verdict.SLOWER),
        share(apart, Verdict.SAME),
        mean_pairs(equal),
        mean_pairs(far),
        share(careless, *CHANGES),
    )
    return f"| {name} | {' | '.join(f'{cell:.1f}' for cell in cells)} |"


SEVERAL = {
    "3 cases, scatter 2 %": (0.02,) * 3,
    "3 cases, scatter 2, 3 and 4 %": (0.02, 0.03, 0.04),
    "10 cases, scatter 2 %": (0.02,) * 10,
    "10 cases, scatter 1 %, of the slower one 4 %": (*(0.01,) * 9, 0.04),
    "30 cases, scatter 2 %": (0.02,) * 30,
}
SEVERAL_HEAD = (
    "cases, normal noise",
    "all equal: any called a change, %",
    "one 5 % slower: found, %",
    "pairs",
    "a plan without Holm: found, %",
    "its pairs",
)


def of_several(scatters: tuple[float, ...], number: int) -> str:
    """The cells of one line of the table of several cases. The case with the widest scatter is the slower one."""

    def repeated(shift: float, family: int, times: int) -> list[tuple[list[Verdict], int]]:
        random = np.random.default_rng(SEED)
        found: list[tuple[list[Verdict], int]] = []
        for _ in range(times):
            cases = [normal(scatter)(random) for scatter in scatters]
            cases[-1] = cases[-1] + np.log1p(shift) * CODES
            found.append(together(cases, family))
        return found

    family = len(scatters)
    equal = repeated(0, family, number // 2)
    apart, careless = (repeated(FIND, planned_for, number // 4) for planned_for in (family, 1))
    cells = (
        100 * float(np.mean([bool({*verdicts} & {*CHANGES}) for verdicts, _ in equal])),
        100 * float(np.mean([verdicts[-1] is Verdict.SLOWER for verdicts, _ in apart])),
        float(np.mean([pairs for _, pairs in apart])),
        100 * float(np.mean([verdicts[-1] is Verdict.SLOWER for verdicts, _ in careless])),
        float(np.mean([pairs for _, pairs in careless])),
    )
    return " | ".join(f"{cell:.1f}" for cell in cells)


def main() -> None:
    """Print the tables, each row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--experiments", type=int, default=1600, help="without a change; a half with one")
    parser.add_argument("--row", default="", help="only the rows whose name contains this")
    asked = parser.parse_args()
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}", flush=True)
    for name, noise in noises().items():
        if asked.row in name:
            print(row(name, noise, asked.experiments), flush=True)
    print(f"\n| {' | '.join(SEVERAL_HEAD)} |\n|{'---|' * len(SEVERAL_HEAD)}", flush=True)
    for name, scatters in SEVERAL.items():
        if asked.row in name:
            print(f"| {name} | {of_several(scatters, asked.experiments)} |", flush=True)


if __name__ == "__main__":
    main()
