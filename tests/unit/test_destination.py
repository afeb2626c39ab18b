"""Whether the environment says where spans go."""

from __future__ import annotations

import pytest

from opentelemetry.instrumentation.scenetest import destination
from opentelemetry.instrumentation.scenetest.errors import BadInputError

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}


@pytest.mark.parametrize(
    ("value", "exporters"),
    [
        (None, ("otlp",)),
        ("", ("otlp",)),
        (" ", ("otlp",)),
        ("otlp", ("otlp",)),
        (" OTLP , Console ,", ("otlp", "console")),
        ("otlp_proto_http", ("otlp_proto_http",)),
        ("none", ()),
        ("none,console", ("console",)),
    ],
)
def test_the_exporters_that_the_environment_asks_for(value: str | None, exporters: tuple[str, ...]) -> None:
    environment = {} if value is None else {"OTEL_TRACES_EXPORTER": value}
    assert destination.exporters(environment) == exporters


def test_an_exporter_that_is_not_supported_is_bad_input() -> None:
    with pytest.raises(BadInputError) as raised:
        destination.exporters({"OTEL_TRACES_EXPORTER": "zipkin"})
    assert str(raised.value) == (
        "OTEL_TRACES_EXPORTER='zipkin' is not supported: use otlp, otlp_proto_http, otlp_proto_grpc, console, none"
    )


@pytest.mark.parametrize(
    ("environment", "has_endpoint"),
    [
        ({}, False),
        (ENDPOINT, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, False),
        ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, False),
        ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "console"}, False),
        ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "console,otlp_proto_grpc"}, True),
        # The command that delivers says what is wrong with it.
        ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "zipkin"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, False),
    ],
)
def test_an_endpoint_needs_an_address_and_an_exporter(environment: dict[str, str], has_endpoint: bool) -> None:
    assert destination.has_endpoint(environment) is has_endpoint


@pytest.mark.parametrize(
    ("value", "prints"), [("console", True), ("otlp,console", True), ("otlp", False), ("zipkin", False)]
)
def test_whether_spans_are_printed(value: str, prints: bool) -> None:
    assert destination.prints_to_console({"OTEL_TRACES_EXPORTER": value}) is prints
