"""OTLP over HTTP: the official exporter, on a session that tells what was answered and keeps to a deadline."""

from __future__ import annotations

import logging
import queue
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

from opentelemetry.instrumentation.scenetest.deliver import refusal
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.deliver.refusal import Refused, Taken, Unencodable, shortened

_PROTOBUF = "application/x-protobuf"
_RETRY = frozenset({408, 429, 502, 503, 504})
_WAY_OUT = {401: refusal.CREDENTIALS, 403: refusal.CREDENTIALS, 404: refusal.PATH, 405: refusal.PATH}
_TOO_LARGE = 413
T = TypeVar("T")

# What it has to say is said by Refused, once.
logging.getLogger("opentelemetry.exporter.otlp.proto.http.trace_exporter").setLevel(logging.CRITICAL + 1)


class HttpSender:
    """Sends batches to one endpoint, each by one attempt."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._session = _Session(endpoint)
        self._exporter = OTLPSpanExporter(
            endpoint.url,
            timeout=endpoint.timeout,
            compression=Compression(endpoint.compression),
            session=self._session,
        )

    def send(self, batch: Sequence[ReadableSpan]) -> Taken:
        """Send one batch and return what the backend answered.

        Raises:
            Refused: it was not accepted.
            Unencodable: it could not be encoded, so nothing was sent.
        """
        self._exporter.export(batch)
        match self._session.take_outcome():
            case Refused() as refused:
                raise refused
            case None:
                raise Unencodable
            case taken:
                return taken

    def close(self) -> None:
        """Let go of the connection."""
        self._exporter.shutdown()


class _Session(requests.Session):
    """Follows no redirect, takes nothing but an OTLP answer for success, and waits no longer than the timeout."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__()
        self._endpoint = endpoint
        self._outcome: Taken | Refused | None = None

    def take_outcome(self) -> Taken | Refused | None:
        """Return how the last request ended, and forget it; None if there was none."""
        outcome, self._outcome = self._outcome, None
        return outcome

    def request(self, method: str | bytes, url: str | bytes, *args: Any, **given: Any) -> requests.Response:
        options = {**given, "allow_redirects": False, "timeout": self._endpoint.timeout}
        request = partial(super().request, str(method), url, *args, **options)
        try:
            response = within(self._endpoint.timeout, request)
            self._outcome = _taken(response)
        except Exception as error:
            refused = error if isinstance(error, Refused) else _not_answered(error, self._endpoint)
            if self._endpoint.is_behind_proxy:
                refused = replace(refused, way_out=refusal.NO_PROXY, retry=False)
            self._outcome = refused
            # No connection error in the exporter's eyes, so that it makes this one attempt only.
            raise refused from None
        return response


def within(seconds: float, call: Callable[[], T]) -> T:
    """Return what a call returns, or raise TimeoutError after so many seconds.

    A socket's own timeout starts anew with every byte that drips in. A call that is given up goes on in a thread that
    keeps nobody alive.
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


def _taken(response: requests.Response) -> Taken:
    status = response.status_code
    answered = f"{shortened(response.url)} answered {status} {response.reason}"
    if 200 <= status < 300:
        kind = response.headers.get("Content-Type", "")
        if kind.partition(";")[0].strip().lower() != _PROTOBUF:
            raise Refused(f"{answered} with {kind or 'no content type'} instead of {_PROTOBUF}", refusal.NOT_OTLP)
        try:
            partial = ExportTraceServiceResponse.FromString(response.content).partial_success
        except DecodeError:
            raise Refused(f"{answered} with something that is no OTLP answer", refusal.NOT_OTLP) from None
        return Taken(partial.rejected_spans, shortened(partial.error_message))
    if 300 <= status < 400:
        raise Refused(f"{answered}, a redirect to {response.headers.get('Location', 'nowhere')}", refusal.NOT_OTLP)
    raise Refused(
        answered,
        _WAY_OUT.get(status, ""),
        retry=status in _RETRY,
        after=_seconds(response.headers.get("Retry-After", "")),
        too_large=status == _TOO_LARGE,
    )


def _not_answered(error: Exception, endpoint: Endpoint) -> Refused:
    causes = list(_causes(error))
    words = shortened(getattr(causes[-1], "strerror", None) or str(causes[-1]) or type(causes[-1]).__name__)
    if isinstance(error, requests.exceptions.ProxyError):
        return Refused(f"the proxy did not reach {endpoint.url}: {words}")
    if isinstance(error, requests.exceptions.SSLError):
        way_out = refusal.PLAIN if "WRONG_VERSION_NUMBER" in words or "record layer" in words else refusal.CERTIFICATE
        return Refused(f"no TLS with {endpoint.url}: {words}", way_out)
    if isinstance(error, (TimeoutError, requests.exceptions.Timeout)):
        return Refused(f"{endpoint.url} did not answer within {endpoint.timeout:g} s", refusal.IS_IT_UP, retry=True)
    if any(isinstance(cause, BadStatusLine) and not isinstance(cause, RemoteDisconnected) for cause in causes):
        return Refused(f"{endpoint.url} answered what is not HTTP", refusal.TRY_GRPC)
    if isinstance(causes[-1], (ConnectionResetError, RemoteDisconnected)):
        return Refused(f"{endpoint.url} hung up without an answer", refusal.TRY_GRPC, retry=True)
    if isinstance(error, (requests.exceptions.ConnectionError, requests.exceptions.ChunkedEncodingError)):
        return Refused(f"no answer from {endpoint.url}: {words}", refusal.IS_IT_UP, retry=True)
    return Refused(f"nothing could be sent to {endpoint.url}: {type(error).__name__}: {words}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what led to it; the last one says it in the fewest words."""
    while True:
        yield error
        cause = error.__cause__ or error.__context__
        if cause is None:
            return
        error = cause


def _seconds(retry_after: str) -> float | None:
    """Return `Retry-After` in seconds; its other form, a date, is not worth a clock comparison between two machines."""
    return float(retry_after) if retry_after.strip().isdigit() else None
