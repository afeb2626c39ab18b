"""OTLP over HTTP, by the official exporter with a session that keeps what was answered.

Without it, the exporter would take a redirect to a login page or an HTML page for success, and would not report a
partial success.
"""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from http.client import BadStatusLine, RemoteDisconnected
from typing import Any, TypeVar, cast

import requests
from google.protobuf.message import DecodeError
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace import ReadableSpan

from opentelemetry.instrumentation.scenetest.deliver import hints, tls
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint, credentials_of_provider, headers
from opentelemetry.instrumentation.scenetest.deliver.result import EncodingError, ExportError, ExportResult, shortened

_PROTOBUF = "application/x-protobuf"
_RETRYABLE = frozenset({408, 429, 502, 503, 504})
_BAD_REQUEST, _TOO_LARGE = 400, 413
_HINTS = {401: hints.CREDENTIALS, 403: hints.CREDENTIALS, 404: hints.PATH, 405: hints.PATH, 413: hints.TOO_LARGE}
_LONGEST_BODY = 1 << 20
"""Bytes of an answer that are read. A partial success needs a few hundred."""

_NOISE = re.compile(r" \(_ssl\.c:\d+\)$")
_NO_HTTP = "no application protocol"
_HUNG_UP = (BrokenPipeError, ConnectionResetError, RemoteDisconnected)
_EOF = "EOF occurred in violation of protocol"
T = TypeVar("T")


class HttpExporter:
    """Exports batches to one endpoint, each by one attempt."""

    def __init__(self, endpoint: Endpoint) -> None:
        files, own_headers = tls.files(endpoint), headers()
        session = credentials_of_provider(endpoint.protocol, requests.Session)
        if session is None:
            session = requests.Session()
            if "authorization" in own_headers:
                # Otherwise requests replaces the header by what the URL or ~/.netrc has for the host.
                session.auth = lambda request: request
        self._session = _AnswerSession(session, endpoint)
        self._exporter = OTLPSpanExporter(
            endpoint=endpoint.url,
            certificate_file=files.authority or None,
            client_key_file=files.key or None,
            client_certificate_file=files.certificate or None,
            headers=own_headers,
            timeout=endpoint.timeout,
            compression=Compression(endpoint.compression),
            session=self._session,
        )

    def export(self, batch: Sequence[ReadableSpan]) -> ExportResult:
        """Send one batch and return what the backend answered.

        Raises:
            ExportError: it was not accepted.
            EncodingError: it could not be encoded, so nothing was sent.
        """
        self._session.forget()
        self._exporter.export(batch)
        return self._session.result()

    def shutdown(self) -> None:
        """Close the connection."""
        self._exporter.shutdown()


class _AnswerSession(requests.Session):
    """A session that makes one attempt within the timeout, by means of another session, and keeps its outcome.

    Anything but an accepted batch becomes an `ExportError`, which the exporter never retries.
    """

    def __init__(self, session: requests.Session, endpoint: Endpoint) -> None:
        super().__init__()
        self._by = session
        self._endpoint = endpoint
        self._outcome: ExportResult | ExportError | None = None

    def forget(self) -> None:
        """Forget the outcome of the last attempt."""
        self._outcome = None

    def result(self) -> ExportResult:
        """Return the outcome of the attempt; raise it, if it is a failure, or EncodingError if there was no attempt."""
        if self._outcome is None:
            raise EncodingError
        if isinstance(self._outcome, ExportError):
            raise self._outcome
        return self._outcome

    def request(self, method: str, url: str, **options: Any) -> requests.Response:  # pyright: ignore[reportIncompatibleMethodOverride]
        # Given here, `verify` comes before REQUESTS_CA_BUNDLE; as a property of the session it comes after it.
        options |= {"stream": True, "verify": self.verify} | ({"cert": self.cert} if self.cert else {})
        try:
            response, body = within(self._endpoint.timeout, partial(self._read, method, url, options))
            self._outcome = _accepted(response, body, self._endpoint)
        except Exception as error:
            failed = error if isinstance(error, ExportError) else _not_answered(error, self._endpoint)
            if self._endpoint.is_behind_proxy:
                failed = replace(failed, hint=hints.NO_PROXY, retryable=False)
            self._outcome = failed
            raise failed from None
        return response

    def _read(self, method: str, url: str, options: dict[str, Any]) -> tuple[requests.Response, bytes]:
        response, body = self._by.request(method, url, **options), b""
        for chunk in response.iter_content(_LONGEST_BODY):
            body += chunk
            if len(body) >= _LONGEST_BODY:
                break
        response.close()
        return response, body

    def close(self) -> None:
        self._by.close()


def within(seconds: float, call: Callable[[], T]) -> T:
    """Return what a call returns, or raise TimeoutError after so many seconds.

    A socket's own timeout starts anew with every byte. A call that is given up goes on in a daemon thread.
    """
    answers: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            answers.put((call(), None))
        except BaseException as error:
            answers.put((None, error))

    threading.Thread(target=work, daemon=True).start()
    try:
        value, error = answers.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None
    if error is not None:
        raise error
    return cast(T, value)


def _accepted(response: requests.Response, body: bytes, endpoint: Endpoint) -> ExportResult:
    status = response.status_code
    answered = f"{endpoint} answered {status} {shortened(response.reason)}"
    if 200 <= status < 300:
        kind = response.headers.get("Content-Type", "")
        if kind.partition(";")[0].strip().lower() != _PROTOBUF:
            kind = shortened(kind) or "no content type"
            raise ExportError(f"{answered} with {kind} instead of {_PROTOBUF}", hints.NOT_OTLP)
        try:
            partial_success = ExportTraceServiceResponse.FromString(body).partial_success
        except DecodeError:
            raise ExportError(f"{answered} with something that is no OTLP answer", hints.NOT_OTLP) from None
        return ExportResult(partial_success.rejected_spans, shortened(partial_success.error_message))
    if status == _BAD_REQUEST and b"HTTPS" in body.upper():
        raise ExportError(answered, hints.TRY_TLS)
    if 300 <= status < 400:
        to = shortened(response.headers.get("Location", "nowhere"))
        raise ExportError(f"{answered}, a redirect to {to}", hints.NOT_OTLP)
    raise ExportError(
        answered,
        _HINTS.get(status, ""),
        retryable=status in _RETRYABLE,
        retry_after=_seconds(response.headers.get("Retry-After", "").strip()),
        too_large=status == _TOO_LARGE,
    )


def _not_answered(error: Exception, endpoint: Endpoint) -> ExportError:
    causes = list(_causes(error))
    words = shortened(getattr(causes[-1], "strerror", None) or str(causes[-1]) or type(causes[-1]).__name__)
    words = _NOISE.sub("", words)
    if isinstance(error, requests.exceptions.ProxyError):
        return ExportError(f"the proxy did not reach {endpoint}: {words}")
    if isinstance(causes[-1], _HUNG_UP) or _EOF in words:
        also = hints.CLIENT_CERTIFICATE if endpoint.has_tls else hints.TRY_TLS
        return ExportError(f"{endpoint} hung up without an answer", f"{hints.TRY_GRPC}; {also}", retryable=True)
    if isinstance(error, requests.exceptions.SSLError):
        hint = hints.TRY_GRPC if _NO_HTTP in words else hints.of_tls(words)
        return ExportError(f"no TLS with {endpoint}: {words}", hint)
    if isinstance(error, (TimeoutError, requests.exceptions.Timeout)):
        return ExportError(f"{endpoint} did not answer within {endpoint.timeout:g} s", hints.IS_IT_UP, retryable=True)
    if any(isinstance(cause, BadStatusLine) for cause in causes):
        return ExportError(f"{endpoint} answered what is not HTTP", hints.TRY_GRPC)
    if isinstance(error, (requests.exceptions.ConnectionError, requests.exceptions.ChunkedEncodingError)):
        return ExportError(f"no answer from {endpoint}: {words}", hints.IS_IT_UP, retryable=True)
    return ExportError(f"nothing could be sent to {endpoint}: {type(error).__name__}: {words}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes. The last cause has the shortest message."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _seconds(retry_after: str) -> float | None:
    """Return `Retry-After` in seconds. Its other form, a date, would compare the clocks of two machines."""
    return float(retry_after) if retry_after.isascii() and retry_after.isdecimal() else None
