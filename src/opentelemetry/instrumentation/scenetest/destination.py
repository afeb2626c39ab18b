"""Whether the environment says where spans go: the part of the configuration that a measured process reads, too.

https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/#exporter-selection and
https://opentelemetry-python.readthedocs.io/en/latest/sdk/environment_variables.html name the values.
"""

from __future__ import annotations

import os

from opentelemetry.instrumentation.scenetest.errors import BadInputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

EXPORTER_VARIABLE = "OTEL_TRACES_EXPORTER"
ENDPOINT_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""The endpoint for traces and the base for all signals. The first one that is set counts."""

PROTOCOL_OF_EXPORTER = {"otlp_proto_http": "http/protobuf", "otlp_proto_grpc": "grpc"}
"""OpenTelemetry for Python's names of its OTLP exporters, with the protocol that each one speaks."""

_EXPORTERS = ("otlp", *PROTOCOL_OF_EXPORTER, "console", "none")


def exporters(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the names of the exporters that `OTEL_TRACES_EXPORTER` asks for; none for `none`.

    Raises:
        BadInputError: it names an exporter that is not supported.
    """
    given = environment.get(EXPORTER_VARIABLE, "").strip() or "otlp"
    names = [name.strip().lower() for name in given.split(",") if name.strip()]
    for name in names:
        if name not in _EXPORTERS:
            raise BadInputError(f"{EXPORTER_VARIABLE}={given!r} is not supported: use {', '.join(_EXPORTERS)}")
    return tuple(name for name in names if name != "none")


def is_otlp(exporter: str) -> bool:
    """Tell whether an exporter of this name sends OTLP to an endpoint."""
    return exporter == "otlp" or exporter in PROTOCOL_OF_EXPORTER


def has_endpoint(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether the environment names an endpoint and an exporter that sends to it."""
    if not any(environment.get(name, "").strip() for name in ENDPOINT_VARIABLES):
        return False
    try:
        return any(map(is_otlp, exporters(environment)))
    except BadInputError:
        # The command that delivers says what is wrong.
        return True


def prints_to_console(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether spans are to be printed, as OpenTelemetry's console exporter does."""
    try:
        return "console" in exporters(environment)
    except BadInputError:
        return False
