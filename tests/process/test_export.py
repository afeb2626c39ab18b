"""A run exported as OpenTelemetry spans in OTLP JSON, and as a trace for Perfetto."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode
from support.scripts import record

from opentelemetry.instrumentation.scenetest.analyse.runs import Run
from opentelemetry.instrumentation.scenetest.deliver import spans
from opentelemetry.instrumentation.scenetest.render import otlp_file, perfetto

SCRIPT = r"""
instrument()
with case("Suite", "c\udc80", level=2, platform="a2a3sim", nan=float("nan")):
    with phase("golden"): pass
    with dispatch(): pass
    try:
        with dispatch(): raise ValueError
    except ValueError: pass
with dispatch(callable="add"): pass
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    environment = {
        "OTEL_SERVICE_NAME": "bench",
        "OTEL_RESOURCE_ATTRIBUTES": "team=a%20b,scenetest.stderr=mine,service.name=other",
    }
    return record(SCRIPT, tmp_path_factory.mktemp("store"), env=environment)


@pytest.fixture(scope="module")
def found(run: Run) -> dict[str, ReadableSpan]:
    return {
        f"{span.name} {(span.attributes or {}).get('scenetest.round', '')}".strip(): span
        for span in spans.of_run(run.path, run.facts)
    }


def test_names_say_what_was_done_and_hold_no_condition(found: dict[str, ReadableSpan]) -> None:
    assert sorted(found) == [
        "-c",
        "Suite::c\\udc80",
        "dispatch Suite::c\\udc80 0",
        "dispatch Suite::c\\udc80 1",
        "dispatch add 0",
        "golden",
    ]


def test_the_resource_holds_the_conditions_and_nothing_that_a_user_sets_overrides_them(
    found: dict[str, ReadableSpan], run: Run
) -> None:
    attributes = found["golden"].resource.attributes
    recorded = run.processes[0].record
    assert {key: attributes[key] for key in recorded.conditions} == recorded.conditions
    assert attributes["service.name"] == "bench"
    assert attributes["team"] == "a b"
    assert attributes["process.pid"] == recorded.pid
    assert attributes["scenetest.run.id"] == run.id
    assert attributes["scenetest.run.name"] == run.name
    assert len({id(span.resource) for span in found.values()}) == 1


def test_a_dispatch_carries_what_holds_for_its_case(found: dict[str, ReadableSpan]) -> None:
    dispatch = found["dispatch Suite::c\\udc80 1"]
    attributes = dict(dispatch.attributes or {})
    ruler = attributes.pop("scenetest.ruler")
    assert isinstance(ruler, str)
    assert len(ruler) == 12
    assert attributes == {
        "test.suite.name": "Suite",
        "test.case.name": "c\\udc80",
        "scenetest.level": 2,
        "scenetest.platform": "a2a3sim",
        "scenetest.nan": "nan",
        "scenetest.outcome": "error",
        "scenetest.round": 1,
        "error.type": "ValueError",
    }
    assert dispatch.status.status_code is StatusCode.ERROR


def test_parents_and_traces_are_those_of_the_journal(found: dict[str, ReadableSpan]) -> None:
    case = found["Suite::c\\udc80"]
    assert case.parent is None
    for name in ("golden", "dispatch Suite::c\\udc80 0"):
        parent = found[name].parent
        assert parent is not None
        assert case.context is not None
        assert (parent.trace_id, parent.span_id) == (case.context.trace_id, case.context.span_id)
    outside = found["dispatch add 0"].parent
    assert outside is not None
    assert outside.span_id == found["-c"].context.span_id  # type: ignore[union-attr]


def test_what_a_dispatch_says_of_itself_comes_before_what_its_case_says(tmp_path: Path) -> None:
    run = record("instrument()\nwith case('S', 'c', level=2):\n    with dispatch(level=3): pass", tmp_path)
    dispatch, _ = spans.of_run(run.path, run.facts)
    encoded = encode_spans([dispatch]).resource_spans[0].scope_spans[0].spans[0]
    levels = [item.value.int_value for item in encoded.attributes if item.key == "scenetest.level"]
    assert (levels, (dispatch.attributes or {})["scenetest.level"]) == ([3], 3)


def test_where_conditions_changed_spans_go_out_under_as_many_resources(tmp_path: Path) -> None:
    source = """
    instrument()
    with case("S", "c"):
        with dispatch(): pass
        import torch
        with dispatch(): pass
    """
    run = record(source, tmp_path, env={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    # The conditions of the case changed while it ran, so there they are unknown.
    before, after, of_case = encode_spans(list(spans.of_run(run.path, run.facts))).resource_spans
    of = [{item.key: item.value for item in group.resource.attributes} for group in (before, after)]
    (imported,) = (item.value for item in of_case.resource.attributes if item.key == "torch.imported")
    assert imported.string_value == "unknown"
    assert [one["torch.imported"].bool_value for one in of] == [False, True]
    assert [one["torch.backend_autoload.outcome"].string_value for one in of] == ["torch_not_imported", "disabled"]
    sent = [{span.name: texts(span) for span in group.scope_spans[0].spans} for group in (before, after)]
    assert [sorted(spans) for spans in sent] == [["dispatch S::c"], ["dispatch S::c"]]
    rulers = [spans["dispatch S::c"]["scenetest.ruler"] for spans in sent]
    (case,) = of_case.scope_spans[0].spans
    assert rulers[0] != rulers[1]
    assert (case.name, texts(case)["scenetest.ruler"]) == ("S::c", "unknown")


def texts(span: Span) -> dict[str, str]:
    return {item.key: item.value.string_value for item in span.attributes}


def test_the_official_encoder_takes_every_span(run: Run) -> None:
    stream = io.StringIO()
    assert otlp_file.write(run.path, run.facts, stream) == 6
    (line,) = stream.getvalue().splitlines()
    (resource,) = json.loads(line)["resourceSpans"]
    assert len(resource["scopeSpans"][0]["spans"]) == 6


def traced(run: Run) -> dict[str, Any]:
    stream = io.StringIO()
    perfetto.write(run, stream)
    return json.loads(stream.getvalue())


def test_the_perfetto_trace_has_every_span_in_a_lane_where_it_nests(run: Run) -> None:
    trace: dict[str, Any] = traced(run)
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert [(event["name"], event["tid"]) for event in events] == [
        ("Suite::c\udc80", 0),
        ("golden", 0),
        ("dispatch 0", 0),
        ("dispatch 1", 0),
        ("dispatch 0", 0),
    ]
    case = events[0]
    assert all(case["ts"] <= e["ts"] and e["ts"] + e["dur"] <= case["ts"] + case["dur"] for e in events[1:4])
    json.dumps(trace)
