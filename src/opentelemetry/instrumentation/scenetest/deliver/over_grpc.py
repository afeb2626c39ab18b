"""OTLP over gRPC: the official encoder and stub, since the official exporter hides what was answered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub
from opentelemetry.sdk.trace import ReadableSpan

from opentelemetry.instrumentation.scenetest.deliver import encode, refusal, tls
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint, headers
from opentelemetry.instrumentation.scenetest.deliver.refusal import Refused, Taken, shortened

# https://opentelemetry.io/docs/specs/otlp/#failures: the codes with which the same batch may be sent again
_RETRY = frozenset(
    {
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    }
)
_WAY_OUT = {
    grpc.StatusCode.UNAUTHENTICATED: refusal.CREDENTIALS,
    grpc.StatusCode.PERMISSION_DENIED: refusal.CREDENTIALS,
    grpc.StatusCode.UNIMPLEMENTED: refusal.NO_TRACES,
}
# gRPC has one code, UNAVAILABLE, for everything that keeps an answer away, and tells it apart in prose. Anything else
# under that code is the backend's own.
_NO_ANSWER = ("failed to connect", "errors resolving", "socket closed", "recvmsg:", "unwrap failed")
_HUNG_UP = ("socket closed", "connection reset", "broken pipe")
_NO_GRPC = ("http1.x", "failed parsing http/2", "alpn", "no_application_protocol", "http2 header with status: 404")
_TOO_LARGE = ("larger than max", "exceeds maximum size", "length too large")
_NOISE = re.compile(
    r"^.*last error: (\w+: \S+ )?(.*OPENSSL_internal:)?|(: Invalid certificate verification context)?: OK$"
)
_STATUS = "grpc-status-details-bin"


class GrpcSender:
    """Sends batches to one endpoint, each by one attempt."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        # gRPC takes bytes under a name that ends so, and sends them as base64.
        self._headers = [(name, text.encode() if name.endswith("-bin") else text) for name, text in headers().items()]
        self._channel = _channel(endpoint)
        self._stub = cast(Any, TraceServiceStub)(self._channel)

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
    target = urlsplit(str(endpoint)).netloc or str(endpoint)
    compression = grpc.Compression.Gzip if endpoint.compression == "gzip" else grpc.Compression.NoCompression
    # gRPC's own pauses between attempts to connect grow to two minutes; ours decide.
    options = (("grpc.max_reconnect_backoff_ms", 1000),)
    if not endpoint.has_tls:
        return grpc.insecure_channel(target, options, compression)
    files = tls.files(endpoint)
    read = (Path(path).read_bytes() if path else None for path in (files.authority, files.key, files.certificate))
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(*read), options, compression)


def _refused(error: grpc.Call, endpoint: Endpoint) -> Refused:
    code, details = error.code(), error.details() or ""
    said = details.lower()
    words = shortened(_NOISE.sub("", details).removesuffix("."))
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return Refused(f"{endpoint} did not answer within {endpoint.timeout:g} s", refusal.IS_IT_UP, retry=True)
    if _holds(said, _NO_GRPC):
        return Refused(f"{endpoint} did not answer as gRPC does: {words}", refusal.TRY_HTTP)
    if code is grpc.StatusCode.UNAVAILABLE and _holds(said, _NO_ANSWER):
        return _not_answered(words, endpoint)
    after, too_large = _seconds(error), _holds(said, _TOO_LARGE)
    return Refused(
        f"{endpoint} answered {code.name}: {words}",
        refusal.TOO_LARGE if too_large else _WAY_OUT.get(code, ""),
        retry=code in _RETRY or after is not None,
        after=after,
        too_large=too_large,
    )


def _not_answered(words: str, endpoint: Endpoint) -> Refused:
    if way_out := refusal.of_tls(words):
        return Refused(f"no TLS with {endpoint}: {words}", way_out)
    what = f"no answer from {endpoint}: {words}"
    if endpoint.is_behind_proxy:
        return Refused(what, refusal.NO_PROXY)
    if _holds(words.lower(), _HUNG_UP):
        return Refused(what, refusal.CLIENT_CERTIFICATE if endpoint.has_tls else refusal.TRY_TLS, retry=True)
    return Refused(what, refusal.IS_IT_UP, retry=True)


def _holds(text: str, signs: Sequence[str]) -> bool:
    return any(sign in text for sign in signs)


def _seconds(error: grpc.Call) -> float | None:
    """Return the seconds after which the backend asks to try again, of the RetryInfo in its answer."""
    for key, value in cast("Sequence[tuple[str, bytes]]", error.trailing_metadata() or ()):
        if key == _STATUS:
            with suppress(DecodeError):
                for detail in Status.FromString(value).details:
                    if detail.Unpack(info := RetryInfo()):
                        return info.retry_delay.ToTimedelta().total_seconds()
    return None
