"""Where spans go, from the environment."""

from __future__ import annotations

import pytest

from opentelemetry.instrumentation.scenetest.deliver import endpoint
from opentelemetry.instrumentation.scenetest.errors import BadInputError

ADDRESS = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4318"}


@pytest.mark.parametrize(
    ("exporter", "url", "protocol"),
    [
        ("otlp", "http://h:4318/v1/traces", "http/protobuf"),
        ("otlp_proto_http", "http://h:4318/v1/traces", "http/protobuf"),
        ("otlp_proto_grpc", "http://h:4318", "grpc"),
        ("console,otlp_proto_grpc", "http://h:4318", "grpc"),
    ],
)
def test_the_name_of_an_exporter_says_its_protocol(exporter: str, url: str, protocol: str) -> None:
    found = endpoint.from_environment({**ADDRESS, "OTEL_TRACES_EXPORTER": exporter})
    assert found is not None
    assert (found.url, found.protocol) == (url, protocol)


def test_the_name_of_an_exporter_comes_before_the_variable_for_the_protocol() -> None:
    named = {"OTEL_TRACES_EXPORTER": "otlp_proto_grpc", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
    found = endpoint.from_environment({**ADDRESS, **named})
    assert found is not None
    assert found.protocol == "grpc"


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "1e300", "86401", "ten"])
def test_a_timeout_of_no_use_is_bad_input(value: str) -> None:
    with pytest.raises(BadInputError) as raised:
        endpoint.from_environment({**ADDRESS, "OTEL_EXPORTER_OTLP_TIMEOUT": value})
    assert str(raised.value) == (
        f"OTEL_EXPORTER_OTLP_TIMEOUT={value!r} is not a number of seconds above 0 and up to 86400"
    )
