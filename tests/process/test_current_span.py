"""What the program sets on the current span inside a case or dispatch is recorded, and so is its exception."""

from __future__ import annotations

from pathlib import Path

from support.scripts import PROGRAMS, only_process, record


def test_what_the_program_sets_on_the_current_span_is_recorded(tmp_path: Path) -> None:
    (case,) = only_process(record(PROGRAMS / "otel/current_span.py", tmp_path)).cases
    of_case, first = case.span.added, case.dispatches[0].added
    assert of_case.attributes == {"note": "second", "scenetest.ruler": "mine", "sizes": [1, 2], "odd": "\udc80"}
    assert [event.name for event in first.events] == ["half", "earlier", "exception"]
    assert (first.events[0].attributes, first.events[1].unix_ns) == ({"percent": 50}, 1_700_000_000_000_000_000)
    assert first.events[2].attributes["exception.message"] == "'handled'"
    assert [(link.trace_id, link.span_id, link.flags, link.remote) for link in first.links] == [
        (f"{1 << 100:032x}", f"{7:016x}", 0, True)
    ]
    assert (first.name, first.status, first.attributes) == ("renamed", ("OK", None), {"after": "end() by the program"})


def test_an_event_lies_within_its_span(tmp_path: Path) -> None:
    (case,) = only_process(record(PROGRAMS / "otel/current_span.py", tmp_path)).cases
    for span in case.dispatches:
        assert span.end_ns is not None
        for event in span.added.events:
            assert event.unix_ns is not None or span.start_ns <= (event.monotonic_ns or 0) <= span.end_ns


def test_an_exception_that_leaves_a_span_is_an_event_and_the_programs_status_stays(tmp_path: Path) -> None:
    (case,) = only_process(record(PROGRAMS / "otel/current_span.py", tmp_path)).cases
    span = case.dispatches[1]
    (event,) = span.added.events
    assert (span.outcome, span.error_type, span.added.status) == ("error", "ValueError", ("ERROR", "by the program"))
    assert event.name == "exception"
    assert event.attributes["exception.type"] == "ValueError"
    assert event.attributes["exception.message"] == "no device"
    assert event.attributes["exception.stacktrace"].endswith("ValueError: no device\n")


def test_what_is_kept_of_a_span_is_limited(tmp_path: Path) -> None:
    env = {"OTEL_SPAN_EVENT_COUNT_LIMIT": "3"}
    (case,) = only_process(record(PROGRAMS / "otel/current_span.py", tmp_path, env=env)).cases
    last = case.dispatches[2].added
    assert len(last.attributes) == 128
    assert [event.name for event in last.events] == ["event197", "event198", "event199"]
    assert last.dropped == {"attributes": 72, "events": 197}


def test_an_exception_is_an_event_without_the_api_too(tmp_path: Path) -> None:
    run = record(
        """
import sys
instrument()
try:
    with case("S", "c"): raise ValueError("no device")
except ValueError: pass
assert "opentelemetry.trace" not in sys.modules
""",
        tmp_path,
    )
    (event,) = only_process(run).cases[0].span.added.events
    assert event.attributes["exception.message"] == "no device"
