"""The stack for users: its files, and spans that OpenTelemetry's own exporters send to it."""

from __future__ import annotations

import re
import secrets
import shutil
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import gobuild
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from support.scripts import record
from support.stack import ROOT, Collector, Endpoints, Jaeger, Stack, attributes, eventually

from opentelemetry.instrumentation.scenetest.deliver import delivery, hints
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint, Protocol
from opentelemetry.instrumentation.scenetest.deliver.result import ExportError

SERVICE = "scenetest"
START, DURATION = 1_790_000_000_000_000_123, 31_007


def exporter(to: Endpoints, protocol: str) -> SpanExporter:
    if protocol == "http":
        return HttpExporter(endpoint=f"{to.http}/v1/traces")
    return GrpcExporter(endpoint=to.grpc, insecure=True)


def send(
    to: Endpoints,
    protocol: str,
    run: str,
    conditions: dict[str, str | bool],
    *,
    name: str = "dispatch TestVector::default",
    live: bool = False,
) -> str:
    """Send one dispatch span measured under the conditions; return its trace id.

    On a tracer provider of the program's own (`live`) the span carries its conditions, else its resource does.
    """
    resource = Resource({"service.name": SERVICE, "scenetest.run.id": run, **({} if live else conditions)})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter(to, protocol)))
    attributes = conditions if live else {}
    span = provider.get_tracer("test").start_span(name, start_time=START, attributes=attributes)
    span.end(START + DURATION)
    provider.shutdown()
    context = span.get_span_context()
    return f"{context.trace_id:032x}"


def found_ids(jaeger: Jaeger, tags: dict[str, str]) -> set[str]:
    return {trace["traceID"] for trace in jaeger.traces(SERVICE, tags)}


@pytest.fixture(params=["direct", "through the collector"])
def way(request: pytest.FixtureRequest, jaeger: Jaeger, collector: Collector) -> Endpoints:
    return jaeger.otlp if request.param == "direct" else collector.otlp


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_jaeger_finds_each_run_by_the_conditions_of_its_process_and_not_the_other(
    jaeger: Jaeger, way: Endpoints, protocol: str
) -> None:
    run = secrets.token_hex(8)
    off = {"torch.backend_autoload.effective": "disabled", "torch.backend_autoload.setting": "0"}
    on = {"torch.backend_autoload.effective": "enabled", "torch.backend_autoload.setting": "unset"}
    without = send(way, protocol, run, {**off, "torch_npu.loaded": False})
    loaded = send(way, protocol, run, {**on, "torch_npu.loaded": True})

    assert eventually(lambda: found_ids(jaeger, {"scenetest.run.id": run}), {without, loaded}.__eq__)
    for key, value, expected in (
        ("torch.backend_autoload.effective", "disabled", without),
        ("torch.backend_autoload.setting", "0", without),
        ("torch_npu.loaded", "true", loaded),
    ):
        assert found_ids(jaeger, {"scenetest.run.id": run, key: value}) == {expected}


def test_the_conditions_are_process_tags_of_the_span(jaeger: Jaeger, collector: Collector) -> None:
    run = secrets.token_hex(8)
    send(collector.otlp, "http", run, {"torch.backend_autoload.effective": "disabled", "torch_npu.loaded": False})

    (trace,) = eventually(lambda: jaeger.traces(SERVICE, {"scenetest.run.id": run}))
    (process,) = trace["processes"].values()
    tags = {tag["key"]: tag["value"] for tag in process["tags"]}
    assert tags["torch.backend_autoload.effective"] == "disabled"
    assert tags["torch_npu.loaded"] is False


def test_durations_come_back_to_the_nanosecond(jaeger: Jaeger, way: Endpoints) -> None:
    run = secrets.token_hex(8)
    trace = send(way, "grpc", run, {"torch.backend_autoload.effective": "unknown"})

    assert eventually(lambda: found_ids(jaeger, {"scenetest.run.id": run})) == {trace}
    (group,) = jaeger.resource_spans(trace)
    (span,) = group["scopeSpans"][0]["spans"]
    assert attributes(group["resource"])["torch.backend_autoload.effective"] == "unknown"
    assert (int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])) == (START, START + DURATION)


def test_the_collector_keeps_a_copy_in_a_file(collector: Collector) -> None:
    run = secrets.token_hex(8)
    send(collector.otlp, "http", run, {"torch_npu.loaded": True})

    def copies() -> list[dict[str, Any]]:
        return [span for span in collector.spans() if span["resource"]["scenetest.run.id"] == run]

    (copy,) = eventually(copies)
    assert copy["name"] == "dispatch TestVector::default"


@pytest.mark.parametrize("live", [False, True], ids=["delivered afterwards", "live"])
def test_the_collector_measures_durations_by_autoload_state(live: bool, collector: Collector) -> None:
    name = f"dispatch TestDurations::{live}"
    for effective in ("enabled", "disabled"):
        conditions: dict[str, str | bool] = {"torch.backend_autoload.effective": effective, "torch_npu.loaded": False}
        send(collector.otlp, "http", "metrics", conditions, name=name, live=live)

    expected = {
        (f"{name} | autoload enabled", "enabled", "false"),
        (f"{name} | autoload disabled", "disabled", "false"),
    }
    assert eventually(lambda: set(measured(collector)), expected.issubset, 90) >= expected


def test_what_was_not_seen_to_end_or_only_waited_for_stays_out_of_the_durations_of_others(
    tmp_path: Path, collector: Collector
) -> None:
    script = """
    import os
    instrument()
    with case("TestEnds", "c"):
        with dispatch(): pass
        with dispatch(**{"async": True}): pass
        with dispatch(): os._exit(1)
    """
    to = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.otlp.http, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
    record(script, tmp_path, expect=1, env=to)

    def counts() -> dict[str, int]:
        return {name: count for (name, *_), count in measured(collector).items() if "TestEnds" in name}

    row = "dispatch TestEnds::c | autoload enabled"
    expected = {
        row: 1,
        f"{row} | not timed": 1,
        f"{row} | end not seen": 1,
        "TestEnds::c | autoload enabled | end not seen": 1,
    }
    assert eventually(counts, expected.__eq__, 90) == expected


def measured(collector: Collector) -> dict[tuple[str, ...], int]:
    """How many durations the collector has counted, by span name and what autoload did."""
    labels = ("span_name", "torch_backend_autoload_effective", "torch_npu_loaded")
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(collector.metrics) as page:
        lines = page.read().decode().splitlines()
    found: Counter[tuple[str, ...]] = Counter()
    for line in lines:
        if line.startswith("traces_span_metrics_duration_milliseconds_count{"):
            label = dict(re.findall(r'(\w+)="([^"]*)"', line))
            found[tuple(label.get(name, "") for name in labels)] += int(float(line.rpartition(" ")[2]))
    return found


def test_spans_wait_in_the_collector_for_a_jaeger_that_is_down_and_survive_its_death(tmp_path: Path) -> None:
    own = Stack(tmp_path)
    run = secrets.token_hex(8)
    try:
        at = own.start("collector")
        trace = send(Endpoints(**at["collector"]), "http", run, {"torch_npu.loaded": False})
        subprocess.run(["kill", "-KILL", str(at["pids"]["collector"])], check=True)
        time.sleep(0.2)
        at = own.start()
        jaeger = Jaeger(at["ui"], Endpoints(**at["jaeger"]))
        assert eventually(lambda: found_ids(jaeger, {"scenetest.run.id": run})) == {trace}
    finally:
        own.stop()


def test_jaeger_sends_no_spans_of_its_own(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.otlp.grpc)
    own = Stack(tmp_path)
    try:
        at = own.start("jaeger")
        Jaeger(at["ui"], Endpoints(**at["jaeger"])).get("/api/services")
    finally:
        own.stop()
    run = secrets.token_hex(8)
    send(collector.otlp, "http", run, {})

    def services() -> set[str]:
        arrived = collector.spans()
        last = any(span["resource"].get("scenetest.run.id") == run for span in arrived)
        return {span["resource"]["service.name"] for span in arrived if last}

    found = eventually(services)
    assert (SERVICE in found, "jaeger" in found) == (True, False)


def test_starting_it_twice_is_starting_it_once(tmp_path: Path) -> None:
    own = Stack(tmp_path)
    try:
        assert own.start() == own.start()
    finally:
        own.stop()


def test_a_port_that_is_taken_is_named_with_the_variable_that_moves_it(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = collector.otlp.grpc.rpartition(":")[2]
    monkeypatch.setenv("COLLECTOR_OTLP_GRPC_PORT", port)
    command = [sys.executable, str(ROOT / "tools" / "stack.py"), "start", "collector", "--folder", str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 1
    assert answer.stderr == f"port {port} of 127.0.0.1 is taken: set COLLECTOR_OTLP_GRPC_PORT to a free one\n"


def test_make_jaeger_runs_the_program_that_jaeger_binary_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = tmp_path / "downloaded" / "jaeger"
    given.parent.mkdir()
    shutil.copy(gobuild.ensure(gobuild.JAEGER), given)
    monkeypatch.setenv("JAEGER_BINARY", str(given))
    own = Stack(tmp_path / "stack")
    try:
        at = own.start("jaeger")
        assert Path(f"/proc/{at['pids']['jaeger']}/exe").readlink() == given
        assert Jaeger(at["ui"], Endpoints(**at["jaeger"])).get("/api/services")["data"] is not None
    finally:
        own.stop()


def test_a_real_jaeger_of_another_release_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    built = gobuild.ensure(gobuild.JAEGER)
    monkeypatch.setenv("JAEGER_BINARY", str(built))
    monkeypatch.setattr(gobuild.Program, "version", "v1.75.0")
    with pytest.raises(RuntimeError, match=r"is not of the release v1\.75\.0 or v2\.12\.0$"):
        gobuild.ensure(gobuild.JAEGER)


@pytest.mark.parametrize(
    ("port", "scheme", "protocol", "hint"),
    [
        ("grpc", "http", "http/protobuf", hints.TRY_GRPC),
        ("http", "http", "grpc", hints.TRY_HTTP),
        ("http", "https", "http/protobuf", hints.PLAIN),
        ("grpc", "https", "grpc", hints.PLAIN),
    ],
)
def test_the_wrong_protocol_on_a_port_is_named(
    port: str, scheme: str, protocol: Protocol, hint: str, jaeger: Jaeger
) -> None:
    url = getattr(jaeger.otlp, port).replace("http", scheme)
    exporter = delivery.exporter_for(Endpoint(f"{url}/v1/traces" if protocol == "http/protobuf" else url, protocol, 5))
    with pytest.raises(ExportError) as caught:
        exporter.export([])
    exporter.shutdown()
    assert hint in caught.value.hint


def test_nobody_listening_for_grpc_is_worth_another_attempt() -> None:
    exporter = delivery.exporter_for(Endpoint("http://127.0.0.1:9", "grpc", 5))
    with pytest.raises(ExportError) as caught:
        exporter.export([])
    exporter.shutdown()
    assert caught.value.message.endswith("Connection refused")
    assert (caught.value.hint, caught.value.retryable) == (hints.IS_IT_UP, True)
