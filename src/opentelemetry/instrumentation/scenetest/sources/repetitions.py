"""The repetitions that a stored run holds, from its journals and logs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TypeVar

from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import DISPATCH, Key, Rank, Repetition, Round
from opentelemetry.instrumentation.scenetest.analyse.passes import COLUMNS, passes
from opentelemetry.instrumentation.scenetest.analyse.runs import Case, Process, Run
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, Value
from opentelemetry.instrumentation.scenetest.native.place import Placed
from opentelemetry.instrumentation.scenetest.rundir.span import NOT_WAITED_FOR, Span

T = TypeVar("T")

FILE = "code.file.path"
CHECKOUT = "scenetest.harness.path"
CALLABLE = "scenetest.callable"


def of_run(run: Run, label: str) -> list[Repetition]:
    """Return what a run measured, from its journals and logs.

    Args:
        run: the run.
        label: what to call it.
    """
    native = run.native()
    ranks = ranks_of(native.spans, lambda owner: owner.span.span_id)
    device = device_names(native.spans)
    return [one for process in run.processes for one in _of_process(label, process, ranks, device)]


def ranks_of(spans: Sequence[Placed[T]], round_of: Callable[[T], str]) -> dict[str, dict[int, Rank]]:
    """Return what each rank of each round measured natively.

    Args:
        spans: the native spans of a run.
        round_of: gives the round that the owner of a window is; what it gives for a case is not looked at.
    """
    durations: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    inside: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for placed in spans:
        if placed.window is None or not placed.rank_known:
            continue
        rank = round_of(placed.window.owner), placed.span.pid
        durations[rank][placed.span.name] += placed.span.duration_ns
        inside[rank].update([DISPATCH, *(above.span.name for above in _above(placed))])
    for each in passes(spans):
        if each.window is not None:
            rank = round_of(each.window.owner), each.pid
            durations[rank].update(each.figures)
            inside[rank].update(
                {figure: sum(inside[rank][name] for name in COLUMNS[figure]) for figure in each.figures}
            )
    found: dict[str, dict[int, Rank]] = defaultdict(dict)
    for (of, pid), times in durations.items():
        found[of][pid] = Rank(times, inside[of, pid])
    return found


def device_names(spans: Iterable[Placed[T]]) -> frozenset[str]:
    """Return the names and figures whose times a device's clock took."""
    names = {placed.span.name for placed in spans if placed.span.on_device}
    return frozenset(names | {figure for figure, parts in COLUMNS.items() if names.issuperset(parts)})


def _above(placed: Placed[T]) -> Iterator[Placed[T]]:
    while placed.parent is not None:
        placed = placed.parent
        yield placed


def _of_process(
    label: str, process: Process, ranks: Mapping[str, Mapping[int, Rank]], device: frozenset[str]
) -> Iterator[Repetition]:
    groups: dict[Key, list[tuple[str, Sequence[Span]]]] = {}
    for case in process.cases:
        if case.dispatches:
            groups.setdefault(_key_of_case(case), []).append((case.span.outcome, case.dispatches))
    for name, dispatches in _by_callable(process.dispatches).items():
        key = Key(NOT_RECORDED, "", name, None, None, None, None)
        groups.setdefault(key, []).append(("pass", dispatches))
    for key, members in groups.items():
        rounds: list[Round] = []
        begins: list[int] = []
        for _, dispatches in members:
            begins.append(len(rounds))
            rounds += [_round(dispatch, process, ranks.get(dispatch.span_id, {})) for dispatch in dispatches]
        outcome = next((outcome for outcome, _ in members if outcome != "pass"), "pass")
        yield Repetition(label, process.record.pid, key, outcome, rounds, begins, device)


def _key_of_case(case: Case) -> Key:
    return key_of(case.span.suite, case.span.name, {**case.span.conditions, **case.span.attributes})


def key_of(suite: str, name: str, attributes: Mapping[str, Value]) -> Key:
    """Return the key of a case.

    Args:
        suite: its suite.
        name: its name.
        attributes: its conditions. Its file counts from the checkout of the harness: two arms may be two checkouts.
    """
    file, checkout = PurePath(str(attributes.get(FILE, NOT_RECORDED))), str(attributes.get(CHECKOUT, ""))
    relative = file.relative_to(checkout) if checkout and file.is_relative_to(checkout) else PurePath(file.name)
    where = (attributes.get(f"scenetest.{key}") for key in ("platform", "runtime", "level", "devices"))
    return Key(str(relative), suite, name, *where)


def _by_callable(dispatches: Iterable[Span]) -> dict[str, list[Span]]:
    groups: dict[str, list[Span]] = {}
    for dispatch in dispatches:
        groups.setdefault(str(dispatch.attributes.get(CALLABLE, "outside any case")), []).append(dispatch)
    return groups


def _round(dispatch: Span, process: Process, ranks: Mapping[int, Rank]) -> Round:
    return Round(
        start_ns=process.record.unix_ns(dispatch.start_ns),
        end_ns=None if dispatch.end_ns is None else process.record.unix_ns(dispatch.end_ns),
        outcome=dispatch.outcome,
        waited_for=bool(dispatch.attributes.get(NOT_WAITED_FOR)),
        conditions={**dispatch.conditions, **dispatch.how},
        ranks=ranks,
    )
