"""OTLP over HTTP: the official encoder and a session of `requests`, which tells what was answered.

The official exporter takes a redirect to a login page, or a page of HTML, for success, and encodes each span anew.
"""

from __future__ import annotations

import gzip
import queue
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from http.client import BadStatusLine, RemoteDisconnected
from typing import TypeVar, cast

import requests
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace import ReadableSpan

from opentelemetry.instrumentation.scenetest.deliver import encode, refusal, tls
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint, headers
from opentelemetry.instrumentation.scenetest.deliver.refusal import Refused, Taken, shortened
from opentelemetry.instrumentation.scenetest.version import __version__

_PROTOBUF = "application/x-protobuf"
_COMPRESS: dict[str, Callable[[bytes], bytes]] = {"none": bytes, "gzip": gzip.compress, "deflate": zlib.compress}
_RETRY = frozenset({408, 429, 502, 503, 504})
_BAD_REQUEST, _TOO_LARGE = 400, 413
_WAY_OUT = {
    401: refusal.CREDENTIALS,
    403: refusal.CREDENTIALS,
    404: refusal.PATH,
    405: refusal.PATH,
    _TOO_LARGE: refusal.TOO_LARGE,
}
_NOISE = re.compile(r" \(_ssl\.c:\d+\)$")
_NO_HTTP = "no application protocol"
_HUNG_UP = (BrokenPipeError, ConnectionResetError, RemoteDisconnected)
_EOF = "EOF occurred in violation of protocol"
T = TypeVar("T")


class HttpSender:
    """Sends batches to one endpoint, each by one attempt."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._session = requests.Session()
        self._session.headers.update(_headers(endpoint))
        if "authorization" in self._session.headers:
            # Else what the URL or ~/.netrc has for the host takes the place of the header.
            self._session.auth = lambda request: request
        files = tls.files(endpoint)
        self._post = partial(
            self._session.post,
            endpoint.url,
            timeout=endpoint.timeout,
            allow_redirects=False,
            # Given here it comes before REQUESTS_CA_BUNDLE, as a property of the session after it.
            verify=files.authority or True,
            cert=(files.certificate, files.key) if files.certificate else None,
        )

    def send(self, batch: Sequence[ReadableSpan]) -> Taken:
        """Send one batch and return what the backend answered.

        Raises:
            Refused: it was not accepted.
            Unencodable: it could not be encoded, so nothing was sent.
        """
        data = _COMPRESS[self._endpoint.compression](encode.request(batch).SerializeToString())
        try:
            return _taken(within(self._endpoint.timeout, partial(self._post, data)), self._endpoint)
        except Exception as error:
            refused = error if isinstance(error, Refused) else _not_answered(error, self._endpoint)
            if self._endpoint.is_behind_proxy:
                refused = replace(refused, way_out=refusal.NO_PROXY, retry=False)
            raise refused from None

    def close(self) -> None:
        """Let go of the connection."""
        self._session.close()


def _headers(endpoint: Endpoint) -> dict[str, str]:
    own = {"User-Agent": f"opentelemetry-instrumentation-scenetest/{__version__}", "Content-Type": _PROTOBUF}
    if endpoint.compression != "none":
        own["Content-Encoding"] = endpoint.compression
    return {**own, **headers()}


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


def _taken(response: requests.Response, endpoint: Endpoint) -> Taken:
    status = response.status_code
    answered = f"{endpoint} answered {status} {response.reason}"
    if 200 <= status < 300:
        kind = response.headers.get("Content-Type", "")
        if kind.partition(";")[0].strip().lower() != _PROTOBUF:
            raise Refused(f"{answered} with {kind or 'no content type'} instead of {_PROTOBUF}", refusal.NOT_OTLP)
        try:
            partial = ExportTraceServiceResponse.FromString(response.content).partial_success
        except DecodeError:
            raise Refused(f"{answered} with something that is no OTLP answer", refusal.NOT_OTLP) from None
        return Taken(partial.rejected_spans, shortened(partial.error_message))
    if status == _BAD_REQUEST and b"HTTPS" in response.content.upper():
        raise Refused(answered, refusal.TRY_TLS)
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
    words = _NOISE.sub("", words)
    if isinstance(error, requests.exceptions.ProxyError):
        return Refused(f"the proxy did not reach {endpoint}: {words}")
    if isinstance(causes[-1], _HUNG_UP) or _EOF in words:
        also = refusal.CLIENT_CERTIFICATE if endpoint.has_tls else refusal.TRY_TLS
        return Refused(f"{endpoint} hung up without an answer", f"{refusal.TRY_GRPC}; {also}", retry=True)
    if isinstance(error, requests.exceptions.SSLError):
        way_out = refusal.TRY_GRPC if _NO_HTTP in words else refusal.of_tls(words)
        return Refused(f"no TLS with {endpoint}: {words}", way_out)
    if isinstance(error, (TimeoutError, requests.exceptions.Timeout)):
        return Refused(f"{endpoint} did not answer within {endpoint.timeout:g} s", refusal.IS_IT_UP, retry=True)
    if any(isinstance(cause, BadStatusLine) for cause in causes):
        return Refused(f"{endpoint} answered what is not HTTP", refusal.TRY_GRPC)
    if isinstance(error, (requests.exceptions.ConnectionError, requests.exceptions.ChunkedEncodingError)):
        return Refused(f"no answer from {endpoint}: {words}", refusal.IS_IT_UP, retry=True)
    return Refused(f"nothing could be sent to {endpoint}: {type(error).__name__}: {words}")


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
