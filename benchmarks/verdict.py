"""Measures how often the verdict is wrong, and the same for simpler methods, on real processes of the harness.

    python benchmarks/verdict.py [--simulations N]

Whole real processes (tests/data/noise.json.gz, described in docs/explanation/verdict.md) are dealt to two arms that
are therefore equal: whoever sees a change is wrong. Prints the tables of that page; 10 minutes at the default.
"""

# scipy's types rest on numpy's, which are half unknown when read for Python 3.10.
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu, ttest_rel

from opentelemetry.instrumentation.scenetest.analyse.stats.fit import FINDABLE, floor, tick
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm, order
from opentelemetry.instrumentation.scenetest.analyse.stats.rounds import warm_rounds
from opentelemetry.instrumentation.scenetest.analyse.stats.verdict import Verdict, decide, gather

Floats = NDArray[np.float64]
Samples = Iterable[Floats]

NOISE = Path(__file__).parent.parent / "tests" / "data" / "noise.json.gz"
MEASURED = ("chip.run", "bind", "args", "prebuilt", "runner", "orch", "sched", "sm_reset", "validate")
QUIET = 30
"""The first processes of a2 ran on a quiet machine."""
CHANGES = (Verdict.SLOWER, Verdict.FASTER)
MARGIN = 0.05
SEED = 20261130


def load() -> dict[str, dict[str, Floats]]:
    """The noise: per pool and segment one row a process, in the order in which they ran, one column a round."""
    with gzip.open(NOISE, "rt") as file:
        noise: dict[str, list[dict[str, Any]]] = json.load(file)
    pools: dict[str, dict[str, Floats]] = {}
    for name, processes in noise.items():
        processes.sort(key=itemgetter("start_ns"))
        rounds = min(len(process[segment]) for process in processes for segment in MEASURED)
        pool = {segment: np.array([p[segment][:rounds] for p in processes], dtype=float) for segment in MEASURED}
        pools[name] = {**pool, "bind+validate": pool["bind"] + pool["validate"]}
    pools["quiet"] = {segment: rows[:QUIET, :11] for segment, rows in pools["a2"].items()}
    pools["loaded"] = {segment: rows[QUIET:, :13] for segment, rows in pools["a2"].items()}
    return pools


def turns(block: str, pairs: int) -> list[Arm]:
    """Who runs when: "BM" and "BMMB" are repeated, "B" is one arm after the other."""
    letters = block * pairs if block != "B" else "B" * pairs + "M" * pairs
    return [Arm.BASE if letter == "B" else Arm.MEASURE for letter in letters[: 2 * pairs]]


def rule(series: Floats, arms: Sequence[Arm], cold: int = 1) -> Verdict:
    """Judge processes that ran one after the other, as `compare` does."""
    warm = warm_rounds(list(series), cold)
    in_time = order([arms[i] for i in warm.kept], warm.kept, warm.kept)
    return decide(gather(warm.minima, warm.medians, in_time, floor(tick(series.ravel())), MARGIN)).verdict


def by_rule(series: Floats, arms: Sequence[Arm], _: np.random.Generator) -> bool:
    """Whether the rule sees a change."""
    return rule(series, arms) in CHANGES


def split(series: Floats, arms: Sequence[Arm]) -> tuple[Floats, Floats]:
    """The warm rounds of base and measure."""
    base = np.array([arm is Arm.BASE for arm in arms])
    return series[base, 1:], series[~base, 1:]


def by_signs(series: Floats, arms: Sequence[Arm], _: np.random.Generator) -> bool:
    """Whether the minima of all pairs differ in the same direction."""
    base, measure = split(series, arms)
    return abs(int(np.sign(measure.min(axis=1) - base.min(axis=1)).sum())) == len(base)


def by_mann_whitney(series: Floats, arms: Sequence[Arm], _: np.random.Generator) -> bool:
    """Whether the rounds of all processes differ when they are pooled."""
    base, measure = split(series, arms)
    return bool(mannwhitneyu(base.ravel(), measure.ravel()).pvalue < 0.05)


def by_bootstrap(series: Floats, arms: Sequence[Arm], random: np.random.Generator) -> bool:
    """Whether the ratio of minima over redrawn rounds of all processes excludes 1."""
    base, measure = (random.choice(rounds.ravel(), (400, rounds.size)).min(axis=1) for rounds in split(series, arms))
    low, high = (float(np.quantile(measure / base, share)) for share in (0.025, 0.975))
    return low > 1 or high < 1


def by_paired_t(series: Floats, arms: Sequence[Arm], _: np.random.Generator) -> bool:
    """Whether a t test on pairs of log minima, which ignores drift, sees a change."""
    base, measure = (np.log(rounds.min(axis=1)) for rounds in split(series, arms))
    return bool(ttest_rel(measure, base).pvalue < 0.05)


METHODS: dict[str, Callable[[Floats, Sequence[Arm], np.random.Generator], bool]] = {
    "rule": by_rule,
    "signs agree": by_signs,
    "Mann-Whitney": by_mann_whitney,
    "bootstrap": by_bootstrap,
    "paired t": by_paired_t,
}


def drawn(rows: Floats, pairs: int, simulations: int, random: np.random.Generator) -> Iterator[Floats]:
    """Processes drawn at random: no drift, no autocorrelation."""
    for _ in range(simulations):
        yield rows[random.permutation(len(rows))[: 2 * pairs]]


def windows(rows: Floats, pairs: int) -> Iterator[Floats]:
    """Every window of processes as they really followed each other."""
    for start in range(len(rows) - 2 * pairs + 1):
        yield rows[start : start + 2 * pairs]


def ramp(samples: Samples, step: float) -> Iterator[Floats]:
    """The same with a load that makes every process slower than the one before by the same fraction."""
    for sample in samples:
        yield sample * (1 + step) ** np.arange(len(sample))[:, None]


def made(scatter: float, shift: float, arms: Sequence[Arm], simulations: int, seed: int) -> Iterator[Floats]:
    """Processes of one round of 1 ms with a normal scatter; the measure is shifted."""
    moved = np.array([shift if arm is Arm.MEASURE else 0.0 for arm in arms])
    for row in np.random.default_rng(seed).normal(0, scatter, (simulations, len(arms))):
        yield 1e6 * (np.exp(row) * (1 + moved))[:, None]


def percent(answers: Iterable[bool]) -> float:
    """The share of yes."""
    return 100 * float(np.mean(list(answers)))


def said(verdicts: Sequence[Verdict], scatter: float, shift: float, pairs: int, simulations: int) -> float:
    """Return how often one of these verdicts is given for simulated processes, in percent."""
    arms = turns("BM", pairs)
    return percent(rule(sample, arms, cold=0) in verdicts for sample in made(scatter, shift, arms, simulations, SEED))


def mean_and_max(pool: Mapping[str, Floats], called: Callable[[Floats], float]) -> str:
    """Over the segments of a pool."""
    shares = [called(rows) for rows in pool.values()]
    return f"{np.mean(shares):.1f} / {max(shares):.1f}"


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table as Markdown, each row as soon as it is known."""
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def equal_arms(pools: Mapping[str, Mapping[str, Floats]], simulations: int) -> None:
    """Print how often the rule calls a change between equal arms."""
    random = np.random.default_rng(SEED)

    def random_order(pool: str, block: str) -> Iterator[str]:
        for pairs in range(4, 9):
            arms = turns(block, pairs)
            yield mean_and_max(
                pools[pool],
                lambda rows, p=pairs, a=arms: percent(
                    by_rule(s, a, random) for s in drawn(rows, p, simulations, random)
                ),
            )

    def real_order(pool: str) -> Iterator[str]:
        for pairs in range(4, 9):
            arms = turns("BM", pairs)
            yield mean_and_max(
                pools[pool], lambda rows, p=pairs, a=arms: percent(by_rule(s, a, random) for s in windows(rows, p))
            )

    rows = (
        ["quiet, 10 rounds, BMBM", *random_order("quiet", "BM")],
        ["loaded, 12 rounds, ABBA", *random_order("loaded", "BMMB")],
        ["a5sim, 30 rounds, BMBM", *random_order("a5", "BM")],
        ["a2a3sim, BMBM in the order in which they ran", *real_order("a2")],
        ["a5sim, BMBM in the order in which they ran", *real_order("a5")],
    )
    head = ["equal arms: called a change, %, mean / worst of 10 segments", *(f"{pairs} pairs" for pairs in range(4, 9))]
    table("## Equal arms", head, rows)


def shortcuts(pools: Mapping[str, Mapping[str, Floats]], simulations: int) -> None:
    """Print what every method calls between equal arms at four pairs."""

    def loads(rows: Floats, random: np.random.Generator) -> dict[str, tuple[Samples, str]]:
        return {
            "drawn at random, BMBM": (drawn(rows, 4, simulations, random), "BM"),
            "in the order in which they ran, BMBM": (windows(rows, 4), "BM"),
            "load grows 50 % a process, BMBM": (ramp(drawn(rows, 4, simulations, random), 0.5), "BM"),
            "in the order in which they ran, one arm after the other": (windows(rows, 4), "B"),
            "load grows 50 % a process, one arm after the other": (ramp(drawn(rows, 4, simulations, random), 0.5), "B"),
        }

    def share(load: str, method: str) -> Callable[[Floats], float]:
        def called(rows: Floats) -> float:
            random = np.random.default_rng(SEED)
            samples, block = loads(rows, random)[load]
            return percent(METHODS[method](sample, turns(block, 4), random) for sample in samples)

        return called

    rows = (
        [load, *(mean_and_max(pools["a2"], share(load, method)) for method in METHODS)]
        for load in loads(np.empty((8, 2)), np.random.default_rng(SEED))
    )
    head = ["equal arms, 4 pairs: called a change, %, mean / worst", *METHODS]
    table("## Beside the shortcuts", head, rows)


def power(simulations: int) -> None:
    """Print what is found where there is something to find, and how often `same` is said."""
    rows = (
        [f"{pairs} pairs", *(f"{said(CHANGES, s, np.expm1(q * s), pairs, simulations):.1f}" for s in (0.015, 0.07))]
        for pairs, q in FINDABLE.items()
    )
    table("## The shift that is promised to be found", ["found, %", "scatter 1.5 %", "scatter 7 %"], rows)
    five = said([Verdict.SLOWER], 0.015, 0.05, 4, simulations)
    print(f"\n5 % slower, scatter 1.5 %, 4 pairs: {five:.1f} % found")
    same = (
        [f"scatter {s:.0%}", *(f"{said([Verdict.SAME], s, shift, 4, simulations):.1f}" for shift in (0, 0.05))]
        for s in (0.01, 0.02, 0.04)
    )
    table("## The same within 5 %, 4 pairs", ["said `same`, %", "equal arms", "5 % apart"], same)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--simulations", type=int, default=2000, help="per segment and cell")
    simulations: int = parser.parse_args().simulations
    pools = load()
    power(simulations)
    shortcuts(pools, min(simulations, 500))
    equal_arms(pools, simulations)


if __name__ == "__main__":
    main()
