"""OTLP over gRPC: the official encoder and stub, since the official exporter hides what was answered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.util.re import parse_env_headers

from opentelemetry.instrumentation.scenetest.deliver import encode, refusal
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint, setting
from opentelemetry.instrumentation.scenetest.deliver.refusal import Refused, Taken, shortened
from opentelemetry.instrumentation.scenetest.errors import BadInputError

# https://opentelemetry.io/docs/specs/otlp/#failures: the codes with which the same batch may be sent again
_RETRY = frozenset(
    {
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
    }
)
_WAY_OUT = {
    grpc.StatusCode.UNAUTHENTICATED: refusal.CREDENTIALS,
    grpc.StatusCode.PERMISSION_DENIED: refusal.CREDENTIALS,
    grpc.StatusCode.UNIMPLEMENTED: refusal.NOT_OTLP,
}
# gRPC has one code, UNAVAILABLE, for all of these, and tells them apart in prose.
_UNAVAILABLE = (
    ("http1.x", refusal.TRY_HTTP),
    ("wrong_version_number", refusal.PLAIN),
    ("certificate", refusal.CERTIFICATE),
    ("ssl", refusal.CERTIFICATE),
)
_TOO_LARGE = "larger than max"
# In the order in which gRPC takes them.
_FILES = ("OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_KEY", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE")


class GrpcSender:
    """Sends batches to one endpoint, each by one attempt."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._channel = _channel(endpoint)
        self._stub = cast(Any, TraceServiceStub)(self._channel)
        self._headers = tuple(parse_env_headers(setting("OTEL_EXPORTER_OTLP_HEADERS"), liberal=True).items())

    def send(self, batch: Sequence[ReadableSpan]) -> Taken:
        """Send one batch and return what the backend answered.

        Raises:
            Refused: it was not accepted.
            Unencodable: it could not be encoded, so nothing was sent.
        """
        request = encode.request(batch)
        try:
            answer: ExportTraceServiceResponse = self._stub.Export(
                request, timeout=self._endpoint.timeout, metadata=self._headers
            )
        except grpc.RpcError as error:
            raise _refused(cast(grpc.Call, error), self._endpoint) from None
        return Taken(answer.partial_success.rejected_spans, shortened(answer.partial_success.error_message))

    def close(self) -> None:
        """Let go of the connection."""
        self._channel.close()


def _channel(endpoint: Endpoint) -> grpc.Channel:
    parts = urlsplit(endpoint.url)
    target = parts.netloc or endpoint.url
    compression = grpc.Compression.Gzip if endpoint.compression == "gzip" else grpc.Compression.NoCompression
    # gRPC's own pauses between attempts to connect grow to two minutes; ours decide.
    options = (("grpc.max_reconnect_backoff_ms", 1000),)
    if parts.scheme == "http" or (parts.scheme != "https" and setting("OTEL_EXPORTER_OTLP_INSECURE").lower() == "true"):
        return grpc.insecure_channel(target, options, compression)
    credentials = grpc.ssl_channel_credentials(*map(_read, _FILES))
    return grpc.secure_channel(target, credentials, options, compression)


def _read(name: str) -> bytes | None:
    path = setting(name)
    try:
        return Path(path).read_bytes() if path else None
    except OSError as error:
        raise BadInputError(f"{name}={path!r} can't be read: {error.strerror}") from error


def _refused(error: grpc.Call, endpoint: Endpoint) -> Refused:
    code, details = error.code(), error.details() or ""
    words = shortened(details.rpartition("last error: ")[2])
    what = f"{endpoint.url} answered {code.name}: {words}"
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        what = f"{endpoint.url} did not answer within {endpoint.timeout:g} s"
        return Refused(what, refusal.IS_IT_UP, retry=True)
    if code is grpc.StatusCode.UNAVAILABLE:
        way_out = next((way_out for sign, way_out in _UNAVAILABLE if sign in details.lower()), "")
        if endpoint.is_behind_proxy:
            way_out = way_out or refusal.NO_PROXY
        return Refused(f"no answer from {endpoint.url}: {words}", way_out or refusal.IS_IT_UP, retry=not way_out)
    if _TOO_LARGE in details:
        return Refused(what, too_large=True)
    return Refused(what, _WAY_OUT.get(code, ""), retry=code in _RETRY)
