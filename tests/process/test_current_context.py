"""Our spans in OpenTelemetry's current context: below the caller's span, and above the program's own spans."""

from __future__ import annotations

from pathlib import Path

from support.scripts import only_process, record

USERS_PROVIDER = """
import os
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
tracer = provider.get_tracer("user")
"""


def test_spans_that_the_user_makes_in_a_dispatch_join_our_trace_and_reach_his_backend(tmp_path: Path) -> None:
    run = record(
        USERS_PROVIDER
        + """
instrument()
with case("S", "c"):
    with dispatch():
        with tracer.start_as_current_span("below"): pass
    with tracer.start_as_current_span("in case"): pass
assert not trace.get_current_span().get_span_context().is_valid
with open(os.environ["SEEN"], "w") as file:
    for span in exporter.get_finished_spans():
        ids = format(span.context.trace_id, "032x"), format(span.parent.span_id, "016x")
        print(*ids, span.parent.is_remote, file=file)
""",
        tmp_path / "store",
        env={"SEEN": str(tmp_path / "seen")},
    )
    recorded = only_process(run).cases[0]
    trace = recorded.span.trace_id
    assert (tmp_path / "seen").read_text().splitlines() == [
        f"{trace} {recorded.dispatches[0].span_id} False",
        f"{trace} {recorded.span.span_id} False",
    ]


def test_a_case_continues_the_callers_current_span(tmp_path: Path) -> None:
    run = record(
        USERS_PROVIDER
        + """
instrument()
with tracer.start_as_current_span("above") as above:
    with case("S", "c", above=format(above.context.span_id, "016x"), trace=format(above.context.trace_id, "032x")):
        with dispatch(): pass
    assert trace.get_current_span() is above
""",
        tmp_path,
    )
    span = only_process(run).cases[0].span
    assert span.parent_id == span.attributes["scenetest.above"]
    assert span.trace_id == span.attributes["scenetest.trace"]


def test_a_case_continues_a_traceparent_that_the_user_set(tmp_path: Path) -> None:
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    script = "instrument()\nwith case('S', 'c'): pass\nwith dispatch(): pass"
    run = record(script, tmp_path, env={"TRACEPARENT": f"00-{trace}-{parent}-01"})
    process = only_process(run)
    assert (process.cases[0].span.trace_id, process.cases[0].span.parent_id) == (trace, parent)
    assert process.dispatches[0].trace_id == trace


def test_a_broken_traceparent_is_no_parent(tmp_path: Path) -> None:
    for number, header in enumerate(("garbage", "00-" + "0" * 32 + "-b7ad6b7169203331-01", "ff-x-y-z")):
        store = tmp_path / str(number)
        run = record("instrument()\nwith case('S', 'c'): pass", store, env={"TRACEPARENT": header})
        assert only_process(run).cases[0].span.parent_id is None
