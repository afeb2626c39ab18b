"""Arms of a comparison with given times: as data, and as journals of runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import Key, Rank, Repetition, Round
from opentelemetry.instrumentation.scenetest.conditions.values import Value

KEY = Key("test_vector.py", "TestVector", "default", "a2a3sim", "host_build_graph", 2, 1)
CLEAN: dict[str, Value] = {
    "torch.backend_autoload.effective": "disabled",
    "torch.backend_autoload.setting": "0",
    "torch_npu.loaded": False,
    "scenetest.stderr": "file",
}
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
    """One process that ran at a place in time: a cold round of 50 ms, then rounds of the given nanoseconds.

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
    return Repetition(run, 1000 + place, key, outcome, rounds, [0])


def arms(
    base: Sequence[int],
    measure: Sequence[int],
    *,
    turns: str = "",
    key: Key = KEY,
    of_measure: Mapping[str, Value] = CLEAN,
) -> tuple[list[Repetition], list[Repetition]]:
    """Two arms with the given minima, in turns (BMBM... if not said); every process has three warm rounds."""
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
    """Write a run of one case with the given rounds, the cold one first, as a process of the recorder would."""
    directory = store / name
    directory.mkdir(parents=True)
    started = 1_700_000_000 * SECOND + place * 10 * SECOND
    facts = {"schema": 1, "id": f"{place:032x}", "name": name, "by": "run", "command": ["x.py"], "exit_code": 0}
    (directory / "run.json").write_text(json.dumps({**facts, "started_unix_ns": started}))
    journal = directory / f"{1000 + place}-0.jsonl"
    journal.write_text("".join(json.dumps(line) + "\n" for line in _lines(place, started, times, conditions)))
    return directory


def _lines(
    place: int, started: int, times: Sequence[int], conditions: Mapping[str, Value]
) -> Iterator[Mapping[str, object]]:
    trace, case = f"{place:032x}", f"{place:016x}"
    anchor = {"unix_ns": started, "monotonic_ns": 0}
    yield {"kind": "process", "pid": 1000 + place, "anchor": anchor, "conditions": conditions}
    opened = {"kind": "open", "span": "case", "id": case, "trace": trace, "parent": None, "at": 0}
    where = {"scenetest.platform": "a2a3sim", "scenetest.runtime": "host_build_graph", "scenetest.level": 2}
    yield {**opened, "suite": "TestVector", "name": "default", "attributes": where}
    for i, time in enumerate(times):
        span, start = f"{place:08x}{i + 1:08x}", (i + 1) * SECOND // 10
        yield {"kind": "open", "span": "dispatch", "id": span, "trace": trace, "parent": case, "at": start, "round": i}
        yield {"kind": "close", "id": span, "start": start, "end": start + time, "outcome": "pass"}
    yield {"kind": "close", "id": case, "start": 0, "end": (len(times) + 2) * SECOND // 10, "outcome": "pass"}
    yield {"kind": "end"}
