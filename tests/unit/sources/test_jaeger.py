"""What answers where a Jaeger is expected: anything else is one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.sources import jaeger


class Answers(BaseHTTPRequestHandler):
    """Gives every request the same answer."""

    status, body = 200, b""

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Answers)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (200, b"<html>please log in</html>", "is no Jaeger"),
        (200, b"[]", "the answer is no JSON object"),
        (200, b"\xff", "is no Jaeger"),
        (503, b"busy", "answered 503 Service Unavailable"),
        (404, b"", "answered 404 Not Found"),
        (200, b"x" * 5000, "answered more than 0 MiB; ask for more attributes"),
    ],
)
def test_an_answer_that_can_not_be_used_is_one_sentence(
    url: str, status: int, body: bytes, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Answers, "status", status)
    monkeypatch.setattr(Answers, "body", body)
    monkeypatch.setattr(jaeger, "_LARGEST_ANSWER", 4096)
    with pytest.raises(BadInputError) as raised:
        jaeger.read("scenetest.run.name=base", url)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)
