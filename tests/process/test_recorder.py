"""Cases, phases and dispatches of the public API, each recorded in a fresh interpreter."""

from __future__ import annotations

from pathlib import Path

from support.scripts import PROGRAMS, only_process, record

from opentelemetry.instrumentation.scenetest.analyse.runs import by_round
from opentelemetry.instrumentation.scenetest.conditions.values import Value


def without_load(attributes: dict[str, Value]) -> dict[str, Value]:
    """The attributes of a case without those that say how busy the machine was."""
    load = ("scenetest.cpu.pressure", "scenetest.load.", "scenetest.memory.")
    return {key: value for key, value in attributes.items() if not key.startswith(load)}


def test_a_case_records_its_phases_and_its_dispatches_in_order(tmp_path: Path) -> None:
    run = record(
        PROGRAMS / "recorder/case_with_rounds.py",
        tmp_path,
    )
    process = only_process(run)
    (recorded,) = process.cases
    assert process.record.ended == "clean"
    assert (recorded.span.suite, recorded.span.name, recorded.span.outcome) == ("TestVector", "default", "pass")
    attributes = without_load(recorded.span.attributes)
    pressure = recorded.span.attributes["scenetest.cpu.pressure"]
    assert attributes == {
        "scenetest.batch": 4,
        "scenetest.level": 2,
        "scenetest.platform": "a2a3sim",
        "scenetest.runtime": "host_build_graph",
    }
    assert pressure == "unknown" or 0 <= float(pressure) <= 1
    assert [one.name for one in recorded.phases] == ["golden"]
    assert [one.round for one in recorded.dispatches] == [0, 1, 2]
    assert {one.outcome for one in recorded.dispatches} == {"pass"}
    assert {one.trace_id for one in [*recorded.phases, *recorded.dispatches]} == {recorded.span.trace_id}
    assert {one.parent_id for one in [*recorded.phases, *recorded.dispatches]} == {recorded.span.span_id}
    ends = [(one.start_ns, one.end_ns) for one in recorded.dispatches]
    assert ends == sorted(ends)


def test_a_round_that_is_given_is_kept_and_counted_on_from(tmp_path: Path) -> None:
    run = record(
        """
        instrument()
        with case("S", "c"):
            for given in (None, 7, None):
                with dispatch(round=given):
                    pass
        """,
        tmp_path,
    )
    assert [one.round for one in only_process(run).cases[0].dispatches] == [0, 7, 8]


def test_rounds_count_from_zero_in_every_case(tmp_path: Path) -> None:
    run = record(
        """
        instrument()
        for name in "ab":
            with case("S", name):
                with dispatch(): pass
                with dispatch(): pass
        """,
        tmp_path,
    )
    cases = only_process(run).cases
    assert [[one.round for one in recorded.dispatches] for recorded in cases] == [[0, 1], [0, 1]]
    assert cases[0].span.trace_id != cases[1].span.trace_id


def test_exceptions_of_every_kind_are_recorded_and_raised_as_they_were(tmp_path: Path) -> None:
    run = record(
        PROGRAMS / "recorder/exceptions.py",
        tmp_path,
    )
    found = {
        recorded.span.name: (recorded.span.outcome, recorded.span.error_type, recorded.dispatches[0].outcome)
        for recorded in only_process(run).cases
    }
    assert found == {
        "AssertionError": ("fail", "AssertionError", "fail"),
        "ValueError": ("error", "ValueError", "error"),
        "KeyboardInterrupt": ("error", "KeyboardInterrupt", "error"),
        "SystemExit": ("error", "SystemExit", "error"),
        "SkipTest": ("skipped", None, "skipped"),
        "Skipped": ("skipped", None, "skipped"),
        "Failed": ("fail", "Failed", "fail"),
        "OddError": ("error", "__main__.OddError", "error"),
    }


def test_nested_cases_and_dispatches_keep_their_parents(tmp_path: Path) -> None:
    run = record(
        PROGRAMS / "recorder/nested.py",
        tmp_path,
    )
    outer, inner = only_process(run).cases
    assert inner.span.parent_id == outer.span.span_id
    assert inner.span.trace_id == outer.span.trace_id
    assert [one.round for one in outer.dispatches] == [0, 1]
    assert outer.dispatches[1].parent_id == outer.dispatches[0].span_id
    assert [one.parent_id for one in inner.dispatches] == [inner.span.span_id]


def test_dispatches_outside_any_case_are_grouped_by_callable_under_a_span_of_the_process(tmp_path: Path) -> None:
    run = record(
        """
        instrument()
        for callable_name in ("add", "mul", "add"):
            with dispatch(callable=callable_name): pass
        with dispatch(): pass
        """,
        tmp_path,
    )
    process = only_process(run)
    assert process.cases == []
    rounds = [(one.attributes.get("scenetest.callable"), one.round) for one in process.dispatches]
    assert rounds == [("add", 0), ("mul", 0), ("add", 1), (None, 0)]
    assert len({one.parent_id for one in process.dispatches} - {None}) == 1


def test_threads_and_tasks_keep_their_cases_apart(tmp_path: Path) -> None:
    run = record(
        PROGRAMS / "recorder/threads_and_tasks.py",
        tmp_path,
    )
    process = only_process(run)
    expected = {("thread", str(n)): list(range(50)) for n in range(4)} | {
        ("task", str(n)): list(range(5)) for n in range(4)
    }
    found = {
        (recorded.span.suite, recorded.span.name): sorted(one.round or 0 for one in recorded.dispatches)
        for recorded in process.cases
    }
    assert found == expected
    spans = [one.span_id for recorded in process.cases for one in [recorded.span, *recorded.dispatches]]
    assert len(set(spans)) == len(spans)


def test_a_generator_that_ends_out_of_order_leaves_no_case_behind(tmp_path: Path) -> None:
    run = record(
        PROGRAMS / "recorder/generator_ends_out_of_order.py",
        tmp_path,
    )
    process = only_process(run)
    assert [(one.span.name, len(one.dispatches)) for one in process.cases] == [("first", 0), ("second", 1)]
    assert len(process.dispatches) == 1


def test_the_context_managers_are_decorators_for_every_kind_of_function(tmp_path: Path) -> None:
    run = record(
        PROGRAMS / "recorder/decorators.py",
        tmp_path,
    )
    cases = only_process(run).cases
    assert [[one.round for one in recorded.dispatches] for recorded in cases] == [[0, 1, 2, 3]] * 2


def test_what_is_sent_and_thrown_into_an_asynchronous_generator_reaches_the_decorated_function(tmp_path: Path) -> None:
    run = record(
        PROGRAMS / "recorder/asynchronous_generators.py",
        tmp_path,
    )
    assert [one.outcome for one in only_process(run).dispatches] == ["cancelled", "pass"]


def test_one_object_entered_again_is_a_span_of_its_own_each_time(tmp_path: Path) -> None:
    run = record(
        PROGRAMS / "recorder/entered_again.py",
        tmp_path,
    )
    process = only_process(run)
    assert [(one.span.outcome, len(one.dispatches)) for one in process.cases] == [("pass", 2)] * 2 + [("pass", 1)] * 2
    assert [one.name for one in process.cases[2].phases] == ["after"]
    assert len(process.dispatches) == 1


def test_one_object_entered_in_two_threads_measures_each_by_itself(tmp_path: Path) -> None:
    run = record(
        PROGRAMS / "recorder/entered_in_two_threads.py",
        tmp_path,
    )
    first, second = only_process(run).dispatches
    assert first.end_ns is not None
    assert second.end_ns is not None
    assert first.start_ns < second.start_ns < first.end_ns < second.end_ns


def test_what_cannot_be_written_as_text_is_unknown_and_costs_no_span(tmp_path: Path) -> None:
    run = record(
        """
        instrument()
        class Odd:
            def __str__(self): raise RuntimeError("no text")
        with case("S", Odd(), odd=Odd(), huge=10 ** 5000, wide=2 ** 63):
            with dispatch(round=Odd()): pass
        """,
        tmp_path,
    )
    (recorded,) = only_process(run).cases
    attributes = recorded.span.attributes
    assert recorded.span.name == "unknown"
    assert [attributes[f"scenetest.{name}"] for name in ("odd", "huge", "wide")] == ["unknown", "unknown", str(2**63)]
    assert [one.round for one in recorded.dispatches] == [0]


def test_attributes_are_scalars_and_what_json_has_no_word_for_is_text(tmp_path: Path) -> None:
    run = record(
        r"""
        instrument()
        with case("S", "c", number=1.5, nan=float("nan"), flag=True, items=[1, 2], nothing=None, text="\ud800\n\""):
            pass
        """,
        tmp_path,
    )
    attributes = without_load(only_process(run).cases[0].span.attributes)
    assert attributes == {
        "scenetest.number": 1.5,
        "scenetest.nan": "nan",
        "scenetest.flag": True,
        "scenetest.items": "[1, 2]",
        "scenetest.text": '\ud800\n"',
    }


def test_memory_does_not_grow_with_the_number_of_dispatches(tmp_path: Path) -> None:
    record(
        PROGRAMS / "recorder/many_dispatches.py",
        tmp_path,
    )


def test_a_decorated_function_outside_any_case_is_told_apart_by_its_name(tmp_path: Path) -> None:
    process = only_process(record(PROGRAMS / "recorder/decorated_functions.py", tmp_path))
    outermost = [one.attributes.get("scenetest.callable") for one, _ in by_round(process.dispatches)]
    assert outermost == ["add", "multiply", "step 1"] * 2
