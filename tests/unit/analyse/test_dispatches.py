"""Dispatches as columns: what is read back is what was put in."""

from __future__ import annotations

from dataclasses import replace

from opentelemetry.instrumentation.scenetest.analyse.dispatches import Dispatches
from opentelemetry.instrumentation.scenetest.conditions.values import Value
from opentelemetry.instrumentation.scenetest.rundir.reader import Span

TRACE = "0123456789abcdef" * 2
CONDITIONS: dict[str, Value] = {"scenetest.stderr": "file"}


def span(number: int, start: int, end: int | None, outcome: str = "pass", **attributes: Value) -> Span:
    return Span(
        "dispatch", f"{number:016x}", TRACE, "f" * 16, "", "", number, start, attributes, CONDITIONS, None, end, outcome
    )


def test_spans_come_back_as_they_were_and_in_the_order_of_their_starts() -> None:
    given = [span(1, 10, 12), span(2, 20, None, "aborted"), span(3, 15, 18), span(4, 30, 31, "pass", device="0")]
    assert list(Dispatches(given)) == sorted(given, key=lambda one: one.start_ns)


def test_an_index_and_a_slice_count_from_both_ends() -> None:
    given = [span(number, 10 * number, 10 * number + 1) for number in range(5)]
    dispatches = Dispatches(given)
    assert dispatches[-1] == given[4]
    assert dispatches[1:4:2] == [given[1], given[3]]
    assert len(dispatches) == 5


def test_durations_are_of_those_that_ended_and_count() -> None:
    given = [
        span(1, 10, 13),
        span(2, 20, None, "aborted"),
        span(3, 30, 31, "error"),
        span(4, 40, 48, "pass", waited=True),
    ]
    dispatches = Dispatches(given)
    assert dispatches.durations(lambda one: "waited" not in one.attributes) == [3, 1]
    assert dispatches.times() == [(10, 13), (30, 31), (40, 48)]
    assert dispatches.others() == [given[1], given[2]]


def test_a_kind_is_one_of_all_that_are_alike() -> None:
    changed = replace(span(3, 30, 31), conditions={"scenetest.stderr": "pipe"})
    given = [span(1, 10, 11), span(2, 20, 21), changed, span(4, 40, 41)]
    kinds = Dispatches(given).kinds()
    assert [kind.round for kind in kinds] == [1, 3, 4]
    assert Dispatches(given)[2].conditions is changed.conditions


def test_no_dispatch_has_no_durations() -> None:
    assert Dispatches().durations(lambda _: True) == []
    assert list(Dispatches()) == []
