"""Checks whether the program's own spans can reach a backend. `opentelemetry-instrument` gives no warning itself."""

from __future__ import annotations

import os
import sys
from urllib.parse import urlsplit

from opentelemetry.instrumentation.scenetest import destination
from opentelemetry.instrumentation.scenetest.errors import BadInputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TOOL = "opentelemetry.instrumentation.auto_instrumentation"
_PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"
_PROTOCOL_VARIABLES = (_PROTOCOL.replace("_OTLP_", "_OTLP_TRACES_"), _PROTOCOL)
_PORTS = {"grpc": 4317, "http/protobuf": 4318}
_TITLES = {"grpc": "OTLP over gRPC", "http/protobuf": "OTLP over HTTP"}


def problem(*, has_provider: bool, environment: Mapping[str, str] = os.environ) -> str:
    """Return one sentence on why the program's own spans are not exported; empty if no problem is known.

    Args:
        has_provider: whether a tracer provider of an SDK is set.
        environment: the environment, including what the OpenTelemetry distro added.
    """
    if _TOOL not in sys.modules:
        return ""
    if not has_provider:
        return (
            "opentelemetry-instrument has set no tracer provider, so the program's own spans are not exported: "
            "install opentelemetry-distro"
        )
    variable = next((name for name in destination.ENDPOINT_VARIABLES if environment.get(name, "").strip()), "")
    endpoint = environment.get(variable, "").strip()
    for protocol in _protocols(environment):
        other = next(each for each in _PORTS if each != protocol)
        if _port(endpoint) == _PORTS[other]:
            return (
                f"{variable}={endpoint} is the port of {_TITLES[other]}, and the program's own exporter uses "
                f"{_TITLES[protocol]}, so its spans are not exported: set OTEL_EXPORTER_OTLP_PROTOCOL={other}, or use "
                f"port {_PORTS[protocol]}"
            )
    return ""


def _protocols(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the protocols of the exporters that `OTEL_TRACES_EXPORTER` names, if they are the SDK's own."""
    try:
        names = destination.exporters(environment)
    except BadInputError:
        return
    given = next((value for name in _PROTOCOL_VARIABLES if (value := environment.get(name, "").strip())), "grpc")
    for name in names:
        protocol = destination.PROTOCOL_OF_EXPORTER.get(name, given)
        if destination.is_otlp(name) and protocol in _PORTS:
            yield protocol


def _port(endpoint: str) -> int | None:
    try:
        return urlsplit(endpoint if "://" in endpoint else f"//{endpoint}").port
    except ValueError:
        return None
