"""What is said of the program's own exporter under `opentelemetry-instrument`."""

from __future__ import annotations

import sys
import types

import pytest

from opentelemetry.instrumentation.scenetest.entrypoints import own_exporter

BASE = "OTEL_EXPORTER_OTLP_ENDPOINT"
GRPC = {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_TRACES_EXPORTER": "otlp"}


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "opentelemetry.instrumentation.auto_instrumentation"
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))


@pytest.mark.usefixtures("tool")
@pytest.mark.parametrize(
    ("environment", "way_out"),
    [
        ({BASE: "http://localhost:4318", **GRPC}, "set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, or use port 4317"),
        ({BASE: "localhost:4318"}, "set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, or use port 4317"),
        (
            {BASE: "http://localhost:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
            "set OTEL_EXPORTER_OTLP_PROTOCOL=grpc, or use port 4318",
        ),
        (
            {BASE: "http://localhost:4317", **GRPC, "OTEL_TRACES_EXPORTER": "console,otlp_proto_http"},
            "set OTEL_EXPORTER_OTLP_PROTOCOL=grpc, or use port 4318",
        ),
    ],
)
def test_an_exporter_that_cannot_talk_to_the_port_is_named(environment: dict[str, str], way_out: str) -> None:
    said = own_exporter.problem(has_provider=True, environment=environment)
    assert said.startswith(f"{BASE}={environment[BASE]} is the port of OTLP over ")
    assert said.endswith(way_out)


@pytest.mark.usefixtures("tool")
@pytest.mark.parametrize(
    "environment",
    [
        {},
        {BASE: "http://localhost:4317", **GRPC},
        {BASE: "http://localhost:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
        {BASE: "https://example.org", **GRPC},
        {BASE: "http://localhost:4318", **GRPC, "OTEL_TRACES_EXPORTER": "none"},
        {BASE: "http://localhost:4318", **GRPC, "OTEL_TRACES_EXPORTER": "of_a_vendor"},
        {BASE: "http://localhost:port", **GRPC},
    ],
)
def test_nothing_is_said_where_it_may_well_work(environment: dict[str, str]) -> None:
    assert own_exporter.problem(has_provider=True, environment=environment) == ""


@pytest.mark.usefixtures("tool")
def test_a_tool_without_a_distro_is_named() -> None:
    assert own_exporter.problem(has_provider=False, environment={}).endswith("install opentelemetry-distro")


def test_nothing_is_said_of_a_program_that_instruments_itself() -> None:
    assert own_exporter.problem(has_provider=False, environment={}) == ""
