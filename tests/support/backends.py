"""OTLP backends over HTTP that misbehave in a chosen way, on real sockets, and count the spans that they accepted."""

from __future__ import annotations

import gzip
import ssl
import threading
import zlib
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

PROTOBUF = "application/x-protobuf"
_DECOMPRESS = {"gzip": gzip.decompress, "deflate": zlib.decompress}


class Backend:
    """A backend. Set `answer` to one of its behaviours at any time.

    Attributes:
        answer: `accept`, `accept later` (when `go_on` is set), `reject` (three of each batch), `html`, `redirect`,
            `drip`, `silence`, `endless`, `take and hang up`, or a status code.
        more_headers: headers that it adds to a status code or a redirect.
        body: body of the last request, as it was sent.
        taken: how often it accepted each span, by span id.
        requests: number of requests.
        resources: attributes of the accepted resources.
    """

    def __init__(self) -> None:
        self.answer = "accept"
        self.taken: Counter[bytes] = Counter()
        self.requests = 0
        self.headers: dict[str, str] = {}
        self.more_headers: dict[str, str] = {}
        self.body = b""
        self.resources: list[dict[str, Any]] = []
        self.go_on = threading.Event()
        self.stopping = threading.Event()
        self.server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        assert self.server is not None
        scheme = "https" if isinstance(self.server.socket, ssl.SSLSocket) else "http"
        return f"{scheme}://127.0.0.1:{self.server.server_port}"

    @property
    def repeats(self) -> int:
        return sum(self.taken.values()) - len(self.taken)

    def take(self, body: bytes) -> None:
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            attributes = {item.key: item.value.string_value for item in group.resource.attributes}
            self.resources.append(attributes)
            for scope in group.scope_spans:
                self.taken.update(span.span_id for span in scope.spans)


class _Handler(BaseHTTPRequestHandler):
    backend: Backend
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        backend = self.backend
        backend.body = body = self.rfile.read(int(self.headers["Content-Length"]))
        if decompress := _DECOMPRESS.get(self.headers.get("Content-Encoding", "")):
            body = decompress(body)
        backend.requests += 1
        backend.headers = dict(self.headers)
        answer = backend.answer
        if answer.startswith("accept"):
            backend.take(body)
            if answer == "accept later":
                backend.go_on.wait(60)
            self._send(200, ExportTraceServiceResponse().SerializeToString(), PROTOBUF)
        elif answer == "reject":
            backend.take(body)
            partial = ExportTracePartialSuccess(rejected_spans=3, error_message="too old")
            self._send(200, ExportTraceServiceResponse(partial_success=partial).SerializeToString(), PROTOBUF)
        elif answer == "html":
            self._send(200, b"<html>please log in</html>", "text/html")
        elif answer == "redirect":
            self._send(302, b"", "text/html", **{"Location": "/login", **backend.more_headers})
        elif answer == "endless":
            self._pour()
        elif answer == "drip":
            self._drip()
        elif answer == "silence":
            backend.stopping.wait(60)
        elif answer == "take and hang up":
            backend.take(body)
            self.wfile.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 100\r\n\r\nhalf"
            )
            self.close_connection = True
        else:
            self._send(int(answer), b"", "text/plain", **backend.more_headers)

    def _drip(self) -> None:
        with suppress(OSError):
            for byte in b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n":
                self.wfile.write(bytes([byte]))
                if self.backend.stopping.wait(0.2):
                    return

    def _pour(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n\r\n")
        self.close_connection = True
        with suppress(OSError):
            while not self.backend.stopping.is_set():
                self.wfile.write(bytes(1 << 16))

    def _send(self, status: int, body: bytes, kind: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def serving(backend: Backend, port: int = 0, tls: ssl.SSLContext | None = None) -> Generator[Backend]:
    """Start a backend on a given or a free port."""
    handler = cast("type[BaseHTTPRequestHandler]", type("Handler", (_Handler,), {"backend": backend}))
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    server.block_on_close = False
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    backend.server = server
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield backend
    finally:
        backend.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()
