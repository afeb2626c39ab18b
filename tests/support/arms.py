"""Makes arms of a comparison with given times: as data, or as journals of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import Key, Rank, Repetition, Round, Rounds
from opentelemetry.instrumentation.scenetest.conditions.values import Value
from support.journals import CLEAN, HARNESS_CASE, Case, Dispatch, Process, write

KEY = Key("test_vector.py", "TestVector", "default", "a2a3sim", "host_build_graph", 2, 1)
SECOND = 10**9
COLD_NS = 50_000_000

Spans = Mapping[str, int]


def repetition(
    run: str,
    place: int,
    times: Sequence[int],
    *,
    conditions: Mapping[str, Value] = CLEAN,
    key: Key = KEY,
    spans: Sequence[Spans] | None = None,
    outcome: str = "pass",
) -> Repetition:
    """Return one process that ran at a given time: a cold round of 50 ms, then rounds of the given nanoseconds.

    `spans` has, for every round with the cold one first, what the one rank of the run took under each name.
    """
    start = place * 10 * SECOND
    rounds = [
        Round(
            start_ns=start + i * SECOND // 10,
            end_ns=start + i * SECOND // 10 + time,
            outcome="pass",
            waited_for=False,
            conditions=conditions,
            ranks={77: Rank(spans[i])} if spans else {},
        )
        for i, time in enumerate([COLD_NS, *times])
    ]
    return Repetition(run, 1000 + place, key, outcome, Rounds.of(rounds), [0])


def arms(
    base: Sequence[int],
    measure: Sequence[int],
    *,
    turns: str = "",
    key: Key = KEY,
    of_measure: Mapping[str, Value] = CLEAN,
) -> tuple[list[Repetition], list[Repetition]]:
    """Return two alternating arms (BMBM... by default) with the given minima, and three warm rounds per process."""
    turns = turns or "BM" * len(base)
    minima = {"B": iter(base), "M": iter(measure)}
    found: dict[str, list[Repetition]] = {"B": [], "M": []}
    for place, turn in enumerate(turns):
        fastest = next(minima[turn])
        name = f"{'base' if turn == 'B' else 'meas'}-{len(found[turn]) + 1}"
        conditions = CLEAN if turn == "B" else of_measure
        times = [fastest + fastest // 20, fastest, fastest + fastest // 10]
        found[turn].append(repetition(name, place, times, conditions=conditions, key=key))
    return found["B"], found["M"]


def write_run(
    store: Path, name: str, place: int, times: Sequence[int], conditions: Mapping[str, Value] = CLEAN
) -> Path:
    """Write a run of one case with the given rounds, the cold one first, as the recorder would."""
    dispatches = [Dispatch(time) for time in times]
    case = Case("TestVector", "default", dispatches, attributes=HARNESS_CASE)
    return write(store, name, [Process([case], conditions=conditions, pid=1000 + place)], at=place * 10.0)
