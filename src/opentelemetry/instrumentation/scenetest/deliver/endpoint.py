"""Where spans go and how, from the environment variables that OpenTelemetry specifies.

https://opentelemetry.io/docs/specs/otel/protocol/exporter/ names them. Differences between the specification and
OpenTelemetry for Python are decided as Python has them: a timeout is in seconds.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Literal, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from opentelemetry.util.re import parse_env_headers

from opentelemetry.instrumentation.scenetest import destination
from opentelemetry.instrumentation.scenetest.errors import BadInputError

Protocol = Literal["grpc", "http/protobuf"]

TIMEOUT = 10.0
"""Seconds that one attempt may take where `OTEL_EXPORTER_OTLP_TIMEOUT` does not say otherwise."""

LONGEST_TIMEOUT = 86_400.0

GRPC_PORT = 4317
TRACES_PATH = "v1/traces"
_PROTOCOLS = ("grpc", "http/protobuf")
_COMPRESSIONS = {"grpc": ("none", "gzip"), "http/protobuf": ("none", "gzip", "deflate")}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

_PROVIDERS = {
    "grpc": "OTEL_PYTHON_EXPORTER_OTLP_GRPC_CREDENTIAL_PROVIDER",
    "http/protobuf": "OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER",
}
"""The variables that name a credential provider for all signals. The exporters take them before those for traces."""
_PROVIDER_GROUP = "opentelemetry_otlp_credential_provider"
T = TypeVar("T")

# The first logs the value of a malformed header, which is a secret. The second logs failures, which we say with a hint.
for _name in ("opentelemetry.util.re", "opentelemetry.exporter.otlp"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)


@dataclass(frozen=True)
class Endpoint:
    """An OTLP endpoint.

    Attributes:
        url: over HTTP what is posted to; over gRPC scheme, host and port.
        protocol: how to speak to it.
        timeout: seconds that one attempt may take.
        compression: `none`, `gzip` or `deflate`.
    """

    url: str
    protocol: Protocol
    timeout: float = TIMEOUT
    compression: str = "none"

    def __str__(self) -> str:
        """Return the URL without credentials."""
        return re.sub(r"^(\w+://)?[^/@]*@", r"\1", self.url)

    @property
    def host(self) -> str:
        """The host, for messages and to tell what is on this machine."""
        return urlsplit(_with_scheme(self.url)).hostname or ""

    @property
    def has_tls(self) -> bool:
        """Whether to speak TLS there; `OTEL_EXPORTER_OTLP_INSECURE` decides where the URL does not."""
        scheme = urlsplit(_with_scheme(self.url)).scheme
        if scheme in ("http", "https"):
            return scheme == "https"
        return setting("OTEL_EXPORTER_OTLP_INSECURE").lower() != "true"

    @property
    def is_behind_proxy(self) -> bool:
        """Whether the environment sends to a proxy what is for this machine's own loopback."""
        proxies = {scheme for scheme in getproxies() if scheme in ("http", "https", "grpc", "all")}
        return self.host in _LOOPBACK and bool(proxies) and not proxy_bypass(self.host)


def from_environment(environment: Mapping[str, str] = os.environ) -> Endpoint | None:
    """Return the endpoint that the environment names, None if it names none.

    Raises:
        BadInputError: a variable has a value that cannot be used.
    """
    whole, base = (environment.get(name, "").strip() for name in destination.ENDPOINT_VARIABLES)
    given = whole or base
    if not given:
        return None
    name, value = variable("OTEL_EXPORTER_OTLP_PROTOCOL", environment)
    of_exporter = map(destination.PROTOCOL_OF_EXPORTER.get, destination.exporters(environment))
    protocol = next(filter(None, of_exporter), value) or ("grpc" if _port(given) == GRPC_PORT else "http/protobuf")
    if protocol not in _PROTOCOLS:
        raise BadInputError(f"{name}={value!r} is not supported: use {' or '.join(_PROTOCOLS)}")
    if protocol == "http/protobuf" and urlsplit(given).scheme not in ("http", "https"):
        raise BadInputError(f"the OTLP endpoint {given!r} is not a URL: write it as http://{given}")
    url = given if whole or protocol == "grpc" else f"{given.rstrip('/')}/{TRACES_PATH}"
    compression = _compression(protocol, environment)
    return Endpoint(url, protocol, _timeout(environment), compression)


def headers(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the headers that the environment adds to every request, by their names in lower case.

    Raises:
        BadInputError: one of them is malformed. Their values are secrets, so it is named by its number.
    """
    name, value = variable("OTEL_EXPORTER_OTLP_HEADERS", environment)
    items = [item.strip() for item in value.split(",") if item.strip()]
    found: dict[str, str] = {}
    for number, item in enumerate(items, 1):
        header = parse_env_headers(item, liberal=True)
        if not header or not all(text.isascii() and text.isprintable() for text in header.values()):
            raise BadInputError(f"{name}: number {number} is not a header: write it as authorization=Bearer%20...")
        found.update(header)
    return found


def credentials_of_provider(protocol: Protocol, kind: type[T]) -> T | None:
    """Return what the credential provider makes that the environment names; None if it names none.

    Args:
        protocol: how the endpoint is spoken to.
        kind: what the official exporter takes from a provider.

    Raises:
        BadInputError: there is no such provider, or it fails.
    """
    variables = _PROVIDERS[protocol], _PROVIDERS[protocol].replace("_CREDENTIAL_", "_TRACES_CREDENTIAL_")
    variable, name = next(((each, os.environ[each]) for each in variables if os.environ.get(each)), ("", ""))
    if not name:
        return None
    found = [*entry_points(group=_PROVIDER_GROUP, name=name)]
    if not found:
        raise BadInputError(f"{variable}={name!r}: no installed package has a credential provider of this name")
    try:
        made: object = found[0].load()()
    except Exception as error:
        raise BadInputError(f"{variable}={name!r}: the provider failed with {type(error).__name__}") from error
    if not isinstance(made, kind):
        wanted, got = kind.__name__, type(made).__name__
        raise BadInputError(f"{variable}={name!r}: it has to make a {wanted} for {protocol}, and makes a {got}")
    return made


def setting(name: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the value of a variable `OTEL_EXPORTER_OTLP_*` as it holds for traces; empty if there is none."""
    return variable(name, environment)[1]


def variable(name: str, environment: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """Return name and value of the variable that counts: that for traces before that for all signals."""
    for candidate in (for_traces(name), name):
        if value := environment.get(candidate, "").strip():
            return candidate, value
    return name, ""


def for_traces(name: str) -> str:
    """Return the name of the variable that holds for traces only, of one that holds for all signals."""
    return name.replace("_OTLP_", "_OTLP_TRACES_")


def _compression(protocol: str, environment: Mapping[str, str]) -> str:
    name, value = variable("OTEL_EXPORTER_OTLP_COMPRESSION", environment)
    compression = value.lower() or "none"
    if compression not in _COMPRESSIONS[protocol]:
        possible = ", ".join(_COMPRESSIONS[protocol])
        raise BadInputError(f"{name}={value!r} is not supported over {protocol}: use {possible}")
    return compression


def _timeout(environment: Mapping[str, str]) -> float:
    name, value = variable("OTEL_EXPORTER_OTLP_TIMEOUT", environment)
    try:
        seconds = float(value or TIMEOUT)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= LONGEST_TIMEOUT:
        raise BadInputError(f"{name}={value!r} is not a number of seconds above 0 and up to {LONGEST_TIMEOUT:g}")
    return seconds


def _port(url: str) -> int | None:
    try:
        return urlsplit(_with_scheme(url)).port
    except ValueError as error:
        raise BadInputError(f"the OTLP endpoint {url!r} is not a URL: {error}") from error


def _with_scheme(url: str) -> str:
    return url if "://" in url else f"//{url}"
