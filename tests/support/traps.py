"""Recorded arms that differ in one thing or nothing, with the only right answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from opentelemetry.instrumentation.scenetest.analyse.compare.comparison import Comparison, compare
from opentelemetry.instrumentation.scenetest.analyse.compare.options import Options
from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS, RULER
from opentelemetry.instrumentation.scenetest.conditions.values import UNKNOWN, Value
from opentelemetry.instrumentation.scenetest.sources.arms import read_arms
from support.journals import CLEAN, HARNESS_CASE, Case, Dispatch, Process, write

MS = 1_000_000
US = 1_000
ROUNDS = (101 * MS, 100 * MS, 103 * MS)
JITTER = (0, 300 * US, -200 * US, 100 * US)
"""Time that is added to all rounds of the k-th run of an arm, because processes always differ a little."""

Make = Callable[[int], Sequence[Process]]
"""Makes the processes of the k-th run of an arm."""


def rounds(k: int, factor: float = 1.0, n: int = 3) -> list[Dispatch]:
    """Return the cold and the warm rounds of the k-th run of an arm."""
    warm = [ROUNDS[i % 3] + JITTER[k % 4] for i in range(n)]
    return [Dispatch(round(factor * ns)) for ns in (300 * MS, *warm)]


def case(
    k: int, factor: float = 1.0, *, name: str = "default", n: int = 3, given: Mapping[str, Value] | None = None
) -> Case:
    attributes = {**HARNESS_CASE, **{f"scenetest.{key}": value for key, value in (given or {}).items()}}
    return Case("Suite", name, rounds(k, factor, n), attributes)


def arm(factor: float = 1.0, *, name: str = "default", **given: Value) -> Make:
    return lambda k: [Process([case(k, factor, name=name, given=given)], pid=1000 + k)]


def under(**conditions: Value) -> Make:
    """Return an arm whose processes differ in one condition."""
    changed = {key.replace("__", "."): value for key, value in conditions.items()}
    return lambda k: [Process([case(k)], conditions={**CLEAN, **changed}, pid=1000 + k)]


def store_of(
    store: Path,
    base: Make,
    measure: Make,
    *,
    pairs: int = 4,
    exit_code: Mapping[str, int | None] | None = None,
    order: str = "BMMB",
    gap: float = 20.0,
) -> None:
    """Record both arms alternately. `exit_code` is by name of the run."""
    made = {"B": 0, "M": 0}
    for place in range(2 * pairs):
        turn = order[place % len(order)]
        k = made[turn]
        made[turn] += 1
        name = f"{'base' if turn == 'B' else 'meas'}-{k + 1}"
        processes = (base if turn == "B" else measure)(k)
        write(store, name, processes, at=100 + place * gap, exit_code=(exit_code or {}).get(name, 0))


def verdict(
    store: Path, base: str = "base-*", measure: str = "meas-*", allow: frozenset[str] = frozenset()
) -> Comparison:
    of_base, of_measure = read_arms([base.split(), measure.split()], str(store), None)
    return compare(of_base, of_measure, Options(allow=allow))


def said(comparison: Comparison) -> str:
    """Return the answer in one word: the verdict of the only case, or why there is none."""
    if not comparison.gate.comparable:
        return "not the same ruler: " + ", ".join(one.attribute for one in comparison.gate.differences)
    if not comparison.compared:
        return "nothing compared"
    return ", ".join(row.reason.verdict.value for row in comparison.named)


@dataclass(frozen=True)
class Trap:
    """Two arms and the one right answer."""

    name: str
    base: Make
    measure: Make
    answer: str
    allow: frozenset[str] = frozenset()
    exit_code: Mapping[str, int | None] = field(default_factory=dict[str, "int | None"])
    order: str = "BMMB"
    left_out: str = ""
    """A text that must be in the list of measurements that are left out."""


def inner(k: int, factor: float) -> Sequence[Process]:
    """A 2 ms kernel, decorated, inside a step: the step takes `factor` times as long, the kernel what it took."""
    kernel = Dispatch(2 * MS + 10 * JITTER[k % 4] // 1000)
    steps = [replace(one, inner=(kernel,)) for one in rounds(k, factor, 6)]
    return [Process([Case("Suite", "default", steps, HARNESS_CASE)], pid=1000 + k)]


def outside(k: int, factor: float, script: str = "bench.py", name: str = "") -> Sequence[Process]:
    attributes: dict[str, Value] = {"scenetest.callable": name} if name else {}
    dispatches = [replace(one, attributes=attributes) for one in rounds(k, factor)]
    return [Process(outside=dispatches, script=script, pid=1000 + k)]


def sizes(k: int, given: Sequence[int]) -> Sequence[Process]:
    """One process that measures a case in several sizes, small ones faster."""
    return [Process([case(k, size / 40, given={"size": size}) for size in given], pid=1000 + k)]


def children(k: int, count: int, factor: float = 1.0) -> Sequence[Process]:
    """So many processes of one run that measure other cases at the same time."""
    return [
        Process([case(k, factor, name=f"case-{i}")], pid=1000 + 10 * k + i, parent=1, after=0.01 * i)
        for i in range(count)
    ]


def one_by_one(k: int, count: int) -> Sequence[Process]:
    return [Process([case(k, name=f"case-{i}")], pid=1000 + 10 * k + i, parent=1, after=4.0 * i) for i in range(count)]


def changed_inside(k: int) -> Sequence[Process]:
    """A process in which a backend is loaded while its first warm round runs."""
    first, second, *others = rounds(k)
    loaded = {**CLEAN, "torch_npu.loaded": True}
    dispatches = [first, replace(second, conditions_after=loaded), *others]
    return [Process([Case("Suite", "default", dispatches, HARNESS_CASE)], pid=1000 + k)]


def failing_rounds(k: int) -> Sequence[Process]:
    """A process with rounds that raise at once, and so would be the fastest."""
    one = case(k)
    dispatches = [*one.dispatches, Dispatch(5 * US, outcome="error"), Dispatch(4 * US, outcome="error")]
    return [Process([replace(one, dispatches=dispatches)], pid=1000 + k)]


def lost(k: int) -> Sequence[Process]:
    """A process that was killed between two rounds: the remaining ones would be faster than the whole."""
    return [Process([replace(case(k, 0.5), outcome=None)], clean=False, pid=1000 + k)]


def pressed(k: int, share: float, factor: float = 1.0) -> Sequence[Process]:
    return [Process([replace(case(k, factor), pressure=share)], pid=1000 + k)]


def twice(k: int, factor: float = 1.0) -> Sequence[Process]:
    """A case that runs twice in one process: the second pass begins cold, too."""
    return [Process([case(k, factor), case(k, factor)], pid=1000 + k)]


def single(k: int, autoload: str = "disabled") -> Sequence[Process]:
    conditions = {**CLEAN, "torch.backend_autoload.effective": autoload}
    return [Process([Case("Suite", "default", [Dispatch(100 * MS)], HARNESS_CASE)], conditions=conditions, pid=9 + k)]


def family(k: int) -> Sequence[Process]:
    """A process and the worker that it forked, which dispatches inside its dispatches."""
    return [
        Process([case(k)], pid=1000 + 10 * k),
        Process(outside=rounds(k, 0.5), pid=1001 + 10 * k, parent=1000 + 10 * k, after=0.01),
    ]


def at_once_with(script: str) -> Make:
    """A process of the same run that measures something else at the same time."""
    return lambda k: [
        Process([case(k)], pid=1000 + 10 * k),
        Process(outside=rounds(k), pid=1001 + 10 * k, parent=1, script=script),
    ]


ALLOW_FAILED = frozenset({"failed"})
ALLOW_CONCURRENCY = frozenset({"concurrency"})

TRAPS = (
    Trap("nothing differs", arm(), arm(), "same"),
    Trap("slower by a tenth", arm(), arm(1.1), "slower"),
    Trap("faster by a tenth", arm(), arm(0.9), "faster"),
    Trap("one arm after the other", arm(), arm(1.1), "unresolved", order="BBBBMMMM"),
    Trap("a step three times as slow around a kernel that is not", lambda k: inner(k, 1), lambda k: inner(k, 3),
         "slower"),
    Trap("an equal step around an equal kernel", lambda k: inner(k, 1), lambda k: inner(k, 1), "same"),
    Trap("more sizes of a case in one arm", lambda k: sizes(k, (10, 40)), lambda k: sizes(k, (40,)), "same",
         left_out="only in base: Suite::default  host_build_graph  L2  size=10"),
    Trap("another dtype", arm(dtype="fp32"), arm(0.5, dtype="fp16"), "nothing compared",
         left_out="only in measure: Suite::default  host_build_graph  L2  dtype=fp16"),
    Trap("another script without cases", lambda k: outside(k, 1), lambda k: outside(k, 0.5, "other.py"),
         "nothing compared", left_out="only in measure: outside any case (other.py)"),
    Trap("the same script without cases", lambda k: outside(k, 1), lambda k: outside(k, 1), "same"),
    Trap("another callable", lambda k: outside(k, 1, name="add"), lambda k: outside(k, 0.5, name="mul"),
         "nothing compared", left_out="only in base: add (bench.py)"),
    Trap("one by one against three at once", lambda k: one_by_one(k, 3), lambda k: children(k, 3, 1.9),
         "not the same ruler: concurrency"),
    Trap("four children at once in both arms", lambda k: children(k, 4), lambda k: children(k, 4),
         "contended, contended, contended, contended"),
    Trap("four children at once, accepted", lambda k: children(k, 4), lambda k: children(k, 4),
         "same, same, same, same", ALLOW_CONCURRENCY),
    Trap("one by one against three at once, accepted", lambda k: one_by_one(k, 3), lambda k: children(k, 3, 1.9),
         "slower, slower, slower", ALLOW_CONCURRENCY),
    Trap("another program of the same run at that moment", arm(), at_once_with("other.py"),
         "not the same ruler: concurrency", left_out="only in measure: outside any case (other.py)"),
    Trap("a worker that dispatches inside its parent's dispatch", family, family, "same, same"),
    Trap("a run that ended with sys.exit after its case", arm(), arm(0.5), "nothing compared",
         exit_code={f"meas-{k}": 1 for k in range(1, 5)}, left_out="its run ended with exit code 1"),
    Trap("one run that ended with sys.exit after its case", arm(), arm(), "unresolved",
         exit_code={"meas-2": 1},
         left_out="meas-2: Suite::default  host_build_graph  L2: its run ended with exit code 1"),
    Trap("runs that failed, accepted", arm(), arm(0.5), "faster", ALLOW_FAILED,
         exit_code={f"meas-{k}": 1 for k in range(1, 5)}),
    Trap("killed between rounds", arm(), lost, "nothing compared",
         exit_code={f"meas-{k}": 137 for k in range(1, 5)},
         left_out="the case never ended and its run ended with exit code 137"),
    Trap("killed, and nobody waited for it", arm(), lost, "nothing compared",
         exit_code={f"meas-{k}": None for k in range(1, 5)},
         left_out="the case never ended and its process did not end cleanly"),
    Trap("a case that failed", arm(), lambda k: [Process([replace(case(k, 0.5), outcome="fail")], pid=1000 + k)],
         "nothing compared", left_out="the case failed"),
    Trap("a case that was skipped half-way", arm(),
         lambda k: [Process([replace(case(k, 0.5), outcome="skipped")], pid=1000 + k)],
         "nothing compared", left_out="the case was skipped"),
    Trap("rounds that raised at once", arm(), failing_rounds, "same", left_out="8 rounds did not pass"),
    Trap("a backend loaded inside a round", arm(), changed_inside, "not the same ruler: torch_npu.loaded"),
    Trap("autoload off against on, one round each", single, lambda k: single(k, "enabled"),
         "not the same ruler: torch.backend_autoload.effective"),
    Trap("one round each", single, single, "nothing compared"),
    Trap("thirty rounds against five", lambda k: [Process([case(k, n=29)], pid=k + 1)],
         lambda k: [Process([case(k, n=4)], pid=k + 1)], "nothing compared", left_out="meas-1 is left out: 5 rounds"),
    Trap("twenty rounds against twelve", lambda k: [Process([case(k, n=19)], pid=k + 1)],
         lambda k: [Process([case(k, n=11)], pid=k + 1)], "same", left_out="32 rounds not used"),
    Trap("a case that runs twice in one process against once", twice, arm(), "same"),
    Trap("equal arms, one on a busy machine", lambda k: pressed(k, 0.9), lambda k: pressed(k, 0.2, 0.84), "contended"),
    Trap("a change on a machine that is equally busy for both", lambda k: pressed(k, 0.5),
         lambda k: pressed(k, 0.55, 1.2), "slower"),
    Trap("unknown in one arm", arm(), under(torch__version=UNKNOWN), "not the same ruler: torch.version"),
    Trap("unknown in both arms", under(torch__version=UNKNOWN), under(torch__version=UNKNOWN),
         "not the same ruler: torch.version"),
    Trap("other context alone", arm(), under(scenetest__boot_id="another"), "same"),
)  # fmt: skip

OTHER: Mapping[type, Sequence[Value]] = {str: ("a", "b"), bool: (False, True), int: (1, 2), float: (0.5, 0.7)}


def of_condition(attribute: str) -> Trap:
    """The arms differ in a condition of the ruler, or in an attribute that identifies a case: then none is shared."""
    condition = CONDITIONS[attribute]
    one, other = OTHER[condition.type]

    def made(value: Value) -> Make:
        if condition.scope == "process":
            return lambda k: [Process([case(k)], conditions={**CLEAN, attribute: value}, pid=1000 + k)]
        return lambda k: [Process([replace(case(k), attributes={**HARNESS_CASE, attribute: value})], pid=1000 + k)]

    return Trap(attribute, made(one), made(other), f"not the same ruler: {attribute}")


ALL = (*TRAPS, *map(of_condition, RULER))
