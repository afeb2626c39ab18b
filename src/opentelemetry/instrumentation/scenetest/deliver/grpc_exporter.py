"""OTLP over gRPC, by the official exporter with a stub that keeps what was answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.grpc.exporter import OTLPExporterMixin
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult

from opentelemetry.instrumentation.scenetest.deliver import hints, tls
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint, credentials_of_provider, headers
from opentelemetry.instrumentation.scenetest.deliver.result import EncodingError, ExportError, ExportResult, shortened

# https://opentelemetry.io/docs/specs/otlp/#failures: the codes with which the same batch may be sent again
_RETRYABLE = frozenset(
    {
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    }
)
_HINTS = {
    grpc.StatusCode.UNAUTHENTICATED: hints.CREDENTIALS,
    grpc.StatusCode.PERMISSION_DENIED: hints.CREDENTIALS,
    grpc.StatusCode.UNIMPLEMENTED: hints.NO_TRACES,
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


class GrpcExporter:
    """Exports batches to one endpoint, each by one attempt."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._answer = ExportTraceServiceResponse()
        # gRPC takes bytes under a name that ends in -bin, and sends them as base64.
        metadata = [(name, text.encode() if name.endswith("-bin") else text) for name, text in headers().items()]
        gzip = endpoint.compression == "gzip"
        self._exporter = _ExporterWithStub(
            lambda channel: _AnswerStub(channel, endpoint, self._keep),
            endpoint=str(endpoint),
            insecure=not endpoint.has_tls,
            credentials=_credentials(endpoint) if endpoint.has_tls else None,
            headers=metadata,
            timeout=endpoint.timeout,
            compression=grpc.Compression.Gzip if gzip else grpc.Compression.NoCompression,
            # gRPC's own pauses between attempts to connect grow to two minutes; ours decide.
            channel_options=(("grpc.max_reconnect_backoff_ms", 1000),),
        )

    def export(self, batch: Sequence[ReadableSpan]) -> ExportResult:
        """Send one batch and return what the backend answered.

        Raises:
            ExportError: it was not accepted.
            EncodingError: it could not be encoded, so nothing was sent.
        """
        try:
            self._exporter.export(batch)
        except ExportError:
            raise
        except Exception as error:
            raise EncodingError from error
        partial_success = self._answer.partial_success
        return ExportResult(partial_success.rejected_spans, shortened(partial_success.error_message))

    def shutdown(self) -> None:
        """Close the connection."""
        cast(Any, self._exporter).shutdown()

    def _keep(self, answer: ExportTraceServiceResponse) -> None:
        self._answer = answer


class _ExporterWithStub(OTLPSpanExporter):
    """The official exporter with another stub: `OTLPSpanExporter` has no parameter for it, its base class has."""

    def __init__(self, stub: Callable[[grpc.Channel], _AnswerStub], **options: Any) -> None:
        cast(Any, OTLPExporterMixin).__init__(self, stub, SpanExportResult, **options)


class _AnswerStub:
    """The official stub, which passes on the answer.

    A failure becomes an `ExportError`: the exporter lets it through, without a retry of its own.
    """

    def __init__(
        self, channel: grpc.Channel, endpoint: Endpoint, keep: Callable[[ExportTraceServiceResponse], None]
    ) -> None:
        self._stub = cast(Any, TraceServiceStub)(channel)
        self._endpoint = endpoint
        self._keep = keep

    def Export(self, **options: Any) -> None:  # noqa: N802
        """Send a request."""
        try:
            self._keep(self._stub.Export(**options))
        except grpc.RpcError as error:
            raise _failed(cast(grpc.Call, error), self._endpoint) from None


def _credentials(endpoint: Endpoint) -> grpc.ChannelCredentials:
    if (provided := credentials_of_provider(endpoint.protocol, grpc.ChannelCredentials)) is not None:
        return provided
    files = tls.files(endpoint)
    return grpc.ssl_channel_credentials(
        *(Path(path).read_bytes() if path else None for path in (files.authority, files.key, files.certificate))
    )


def _failed(error: grpc.Call, endpoint: Endpoint) -> ExportError:
    code, details = error.code(), error.details() or ""
    said = details.lower()
    words = shortened(_NOISE.sub("", details).removesuffix("."))
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return ExportError(f"{endpoint} did not answer within {endpoint.timeout:g} s", hints.IS_IT_UP, retryable=True)
    if _holds(said, _NO_GRPC):
        return ExportError(f"{endpoint} did not answer as gRPC does: {words}", hints.TRY_HTTP)
    if code is grpc.StatusCode.UNAVAILABLE and _holds(said, _NO_ANSWER):
        return _not_answered(words, endpoint)
    retry_after, too_large = _seconds(error), _holds(said, _TOO_LARGE)
    return ExportError(
        f"{endpoint} answered {code.name}: {words}",
        hints.TOO_LARGE if too_large else _HINTS.get(code, ""),
        retryable=code in _RETRYABLE or retry_after is not None,
        retry_after=retry_after,
        too_large=too_large,
    )


def _not_answered(words: str, endpoint: Endpoint) -> ExportError:
    if hint := hints.of_tls(words):
        return ExportError(f"no TLS with {endpoint}: {words}", hint)
    message = f"no answer from {endpoint}: {words}"
    if endpoint.is_behind_proxy:
        return ExportError(message, hints.NO_PROXY)
    if _holds(words.lower(), _HUNG_UP):
        return ExportError(message, hints.CLIENT_CERTIFICATE if endpoint.has_tls else hints.TRY_TLS, retryable=True)
    return ExportError(message, hints.IS_IT_UP, retryable=True)


def _holds(text: str, signs: Sequence[str]) -> bool:
    return any(sign in text for sign in signs)


def _seconds(error: grpc.Call) -> float | None:
    """Return the seconds after which the backend asks to try again, of the RetryInfo in its answer."""
    for key, value in cast("Sequence[tuple[str, bytes]]", error.trailing_metadata() or ()):
        if key == _STATUS:
            with suppress(DecodeError):
                for detail in Status.FromString(value).details:
                    if detail.Unpack(info := RetryInfo()):
                        return max(0.0, info.retry_delay.seconds + info.retry_delay.nanos / 1e9)
    return None
