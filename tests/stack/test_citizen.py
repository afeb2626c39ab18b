"""What a collector and a Jaeger receive of a span's OpenTelemetry fields: flags, state, events, links, identity."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.runner import CLI
from support.scripts import clean_environment, program
from support.stack import Collector, Jaeger, attributes, eventually

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
HAS_REMOTE, IS_REMOTE = 0x100, 0x200


def run(store: Path, name: str, *script: str, **env: str) -> None:
    command = [CLI, "run", "--dir", str(store), "--name", name, "--", *program(*script)]
    done = subprocess.run(command, env=clean_environment(**env), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def collected(collector: Collector, run_name: str) -> list[dict[str, Any]]:
    """The spans of a run, each with its `resource` and the `schemaUrl` of both."""
    found: list[dict[str, Any]] = []
    for line in collector.spans_file.read_text().splitlines() if collector.spans_file.exists() else ():
        for group in json.loads(line)["resourceSpans"]:
            resource = attributes(group["resource"])
            if resource.get("scenetest.run.name") == run_name:
                urls = {group.get("schemaUrl"), *(scope.get("schemaUrl") for scope in group["scopeSpans"])}
                spans = [span for scope in group["scopeSpans"] for span in scope["spans"]]
                found += [{**span, "resource": resource, "urls": urls} for span in spans]
    return found


def test_what_was_set_on_the_current_span_reaches_the_collector(tmp_path: Path, collector: Collector) -> None:
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.otlp.http, "SCENETEST_OTEL_EXIT_WAIT": "60"}
    run(tmp_path, "current-span", "otel/current_span.py", **env, OTEL_SERVICE_NAME="my-app")
    spans = eventually(lambda: collected(collector, "current-span"), lambda found: len(found) == 5)
    case = next(span for span in spans if span["name"] == "S::c")
    assert attributes(case)["note"] == "second"
    assert attributes(case)["scenetest.ruler"] != "mine"
    renamed = next(span for span in spans if span["name"] == "renamed")
    assert [event["name"] for event in renamed["events"]] == ["half", "earlier", "exception"]
    assert renamed["status"] == {"code": 1}
    (link,) = renamed["links"]
    assert (link["traceId"], link["spanId"], link["flags"]) == (f"{1 << 100:032x}", f"{7:016x}", HAS_REMOTE | IS_REMOTE)
    failed = next(span for span in spans if attributes(span).get("error.type") == "ValueError")
    assert failed["status"] == {"message": "by the program", "code": 2}
    assert attributes(failed["events"][0])["exception.message"] == "no device"
    full = next(span for span in spans if span.get("droppedEventsCount"))
    assert (len(full["events"]), full["droppedEventsCount"]) == (128, 72)
    assert len(full["attributes"]) == 128
    assert {"scenetest.ruler", "scenetest.outcome"} <= attributes(full).keys()
    assert {span["resource"]["service.name"] for span in spans} == {"my-app"}
    assert {url for span in spans for url in span["urls"]} == {"https://opentelemetry.io/schemas/1.37.0"}


def test_a_run_below_a_traceparent_is_its_child_and_says_that_the_parent_is_remote(
    tmp_path: Path, jaeger: Jaeger, collector: Collector
) -> None:
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.otlp.http,
        "SCENETEST_OTEL_EXIT_WAIT": "60",
        "TRACEPARENT": f"00-{TRACE}-{PARENT}-01",
        "TRACESTATE": "vendor=1",
        "OTEL_RESOURCE_ATTRIBUTES": "service.instance.id=one,telemetry.distro.name=mine",
    }
    run(tmp_path, "below", "recorder/nested.py", **env, SCENETEST_OTEL_DIR=str(tmp_path))
    spans = eventually(
        lambda: collected(collector, "below"), lambda found: any(s["name"] == "run below" for s in found)
    )
    whole = next(span for span in spans if span["name"] == "run below")
    roots = [span for span in spans if span.get("parentSpanId") == PARENT]
    assert whole in roots
    assert len(roots) > 1
    for span in spans:
        assert (span["traceId"], span["traceState"]) == (TRACE, "vendor=1")
        assert span["flags"] == HAS_REMOTE | (IS_REMOTE if span in roots else 0)
        assert span["resource"]["service.instance.id"] == "one"
        assert span["resource"]["telemetry.distro.name"] == "mine"
    assert attributes(whole) == {"process.exit.code": "0"}
    assert "process.exit.code" not in whole["resource"]
    assert all(link["flags"] & IS_REMOTE for span in roots for link in span.get("links", []))
    (found,) = eventually(lambda: jaeger.traces("scenetest", {"scenetest.run.name": "below"}))
    assert found["traceID"] == TRACE


def test_an_unsampled_trace_reaches_jaeger_only_by_push_unsampled(
    tmp_path: Path, jaeger: Jaeger, collector: Collector
) -> None:
    trace = TRACE.replace("0af7", "1bf7")
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.otlp.http,
        "SCENETEST_OTEL_EXIT_WAIT": "60",
        "TRACEPARENT": f"00-{trace}-{PARENT}-00",
    }
    command = [CLI, "run", "--dir", str(tmp_path), "--name", "dropped", "--", *program("recorder/nested.py")]
    done = subprocess.run(command, env=clean_environment(**env), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "of traces that were not sampled stay in the run" in done.stderr
    assert done.stderr.rstrip().endswith(f"scenetest-otel push --unsampled {tmp_path}/dropped")
    assert not collected(collector, "dropped")
    push = [CLI, "push", "--dir", str(tmp_path), "--unsampled", "dropped"]
    sent = subprocess.run(push, env=clean_environment(**env), capture_output=True, text=True, check=True)
    assert " spans of 1 run delivered" in sent.stdout
    assert eventually(lambda: collected(collector, "dropped"))
    (found,) = eventually(lambda: jaeger.traces("scenetest", {"scenetest.run.name": "dropped"}))
    assert found["traceID"] == trace
    assert "run dropped" in {span["operationName"] for span in found["spans"]}


@pytest.mark.parametrize(("script", "count"), [("otel/own_identity.py", 3), ("otel/late_identity.py", 5)])
def test_one_process_has_one_identity_that_of_its_own_sdk(
    script: str, count: int, tmp_path: Path, collector: Collector
) -> None:
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.otlp.http, "SCENETEST_OTEL_EXIT_WAIT": "60"}
    name = f"identity-{count}"
    run(tmp_path, name, script, **env)
    spans = eventually(lambda: collected(collector, name), lambda found: len(found) == count)
    of_process = [span["resource"] for span in spans if not span["name"].startswith("run ")]
    assert {(one["service.name"], one["service.instance.id"]) for one in of_process} == {("own", "seven")}
