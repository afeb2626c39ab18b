"""Delivery over gRPC to a real server with the official service, with counts."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support.grpc_backend import GrpcBackend, serving_grpc
from support.recorded import SPANS, deliver
from support.runner import CLI
from support.scripts import clean_environment

from opentelemetry.instrumentation.scenetest.deliver import delivery, endpoint, hints, spans
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.deliver.result import ExportError
from opentelemetry.instrumentation.scenetest.errors import BadInputError

TESTS = Path(__file__).parent.parent
DIES_WITH_A_BATCH = """
import os, sys
from support.grpc_backend import GrpcBackend, serving_grpc

class Mortal(GrpcBackend):
    def take(self, body):
        super().take(body)
        print(*(span.hex() for span in self.taken), flush=True)
        os._exit(1)

with serving_grpc(Mortal()) as address:
    print(address, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def backend() -> GrpcBackend:
    return GrpcBackend()


@pytest.fixture
def address(backend: GrpcBackend) -> Iterator[str]:
    with serving_grpc(backend) as serves_at:
        yield serves_at


def grpc_at(address: str, timeout: float = 30) -> Endpoint:
    return Endpoint(f"http://{address}", "grpc", timeout)


def push(store: Path, url: str, **env: str) -> subprocess.CompletedProcess[str]:
    named = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    command = [CLI, "push", "--dir", str(store)]
    return subprocess.run(command, env=clean_environment(**named, **env), capture_output=True, text=True, check=False)


def test_every_span_is_accepted_once(run_directory: Path, backend: GrpcBackend, address: str) -> None:
    tally = deliver(run_directory, grpc_at(address))
    assert (tally.accepted, len(backend.taken), backend.repeats) == (SPANS, SPANS, 0)
    assert delivery.is_delivered(run_directory)


@pytest.mark.parametrize(
    ("code", "hint", "retry"),
    [
        ("UNAUTHENTICATED", hints.CREDENTIALS, False),
        ("PERMISSION_DENIED", hints.CREDENTIALS, False),
        ("UNIMPLEMENTED", hints.NO_TRACES, False),
        ("INTERNAL", "", False),
        ("RESOURCE_EXHAUSTED", "", False),
        ("UNAVAILABLE", "", True),
        ("ABORTED", "", True),
    ],
)
def test_what_a_backend_answers_is_said_in_its_words(
    backend: GrpcBackend, address: str, code: str, hint: str, retry: bool
) -> None:
    backend.answer, backend.details = code, "not today"
    with pytest.raises(ExportError) as caught:
        delivery.exporter_for(grpc_at(address)).export([])
    assert caught.value == ExportError(f"http://{address} answered {code}: not today", hint, retry)
    assert backend.requests == 1


def test_what_a_backend_did_not_accept_is_delivered_later(
    run_directory: Path, backend: GrpcBackend, address: str
) -> None:
    backend.answer = "INTERNAL"
    with pytest.raises(ExportError):
        deliver(run_directory, grpc_at(address))
    backend.answer = "accept"
    assert deliver(run_directory, grpc_at(address)).accepted == SPANS
    assert (len(backend.taken), backend.repeats) == (SPANS, 0)


def test_a_server_of_something_else_is_named() -> None:
    with serving_grpc(None) as address, pytest.raises(ExportError) as caught:
        delivery.exporter_for(grpc_at(address)).export([])
    assert str(caught.value) == f"http://{address} answered UNIMPLEMENTED: Method not found!; {hints.NO_TRACES}"


def test_a_backend_that_says_when_to_try_again_is_tried_again_then(
    run_directory: Path, backend: GrpcBackend, address: str
) -> None:
    backend.answer, backend.retry_after = "RESOURCE_EXHAUSTED", 1500
    with pytest.raises(ExportError) as caught:
        deliver(run_directory, grpc_at(address))
    assert (caught.value.retryable, caught.value.retry_after) == (True, 1.5)

    def accept_the_next(tally: delivery.Tally) -> None:
        backend.answer = "accept"

    began = time.monotonic()
    assert deliver(run_directory, grpc_at(address), 30, accept_the_next).accepted == SPANS
    assert time.monotonic() - began > 1.5
    assert backend.requests == 2 + 3  # two that were refused, and three batches


def test_batches_that_are_too_large_for_a_server_are_halved(run_directory: Path, backend: GrpcBackend) -> None:
    with serving_grpc(backend, 0, None, ("grpc.max_receive_message_length", 100_000)) as address:
        assert deliver(run_directory, grpc_at(address)).accepted == SPANS
    assert (len(backend.taken), backend.repeats) == (SPANS, 0)
    assert backend.requests > 3


def test_rejected_spans_are_counted_in_the_backends_words_and_not_repeated(
    run_directory: Path, backend: GrpcBackend, address: str
) -> None:
    backend.answer = "reject"
    tally = deliver(run_directory, grpc_at(address))
    assert (tally.accepted, tally.rejected, tally.message) == (SPANS - 9, 9, "too old")
    assert backend.repeats == 0
    assert delivery.is_delivered(run_directory)


def test_silence_is_given_up_when_the_timeout_has_passed(
    run_directory: Path, backend: GrpcBackend, address: str
) -> None:
    backend.answer = "silence"
    with pytest.raises(ExportError) as caught:
        deliver(run_directory, grpc_at(address, timeout=1))
    assert caught.value == ExportError(f"http://{address} did not answer within 1 s", hints.IS_IT_UP, retryable=True)


def test_what_a_backend_took_before_it_died_is_sent_again_with_the_same_ids(
    run_directory: Path, backend: GrpcBackend
) -> None:
    command = [sys.executable, "-c", DIES_WITH_A_BATCH]
    environment = clean_environment(PYTHONPATH=str(TESTS))
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as mortal:
        assert mortal.stdout
        address = mortal.stdout.readline().strip()
        with pytest.raises(ExportError) as caught:
            deliver(run_directory, grpc_at(address))
        taken = {bytes.fromhex(span) for span in mortal.stdout.readline().split()}
    assert caught.value.message.startswith(f"no answer from http://{address}: ")
    assert caught.value.retryable
    assert len(taken) == spans.BATCH

    with serving_grpc(backend, int(address.rpartition(":")[2])):
        assert deliver(run_directory, grpc_at(address)).accepted == SPANS
    assert (len(backend.taken), backend.repeats) == (SPANS, 0)
    assert taken < backend.taken.keys()


def test_a_backend_that_comes_up_later_gets_everything_over_the_same_connection(
    run_directory: Path, backend: GrpcBackend
) -> None:
    with serving_grpc(None) as address:
        port = int(address.rpartition(":")[2])
    up = threading.Event()

    def come_up() -> None:
        time.sleep(0.3)
        with serving_grpc(backend, port):
            up.wait(30)

    thread = threading.Thread(target=come_up)
    thread.start()
    assert deliver(run_directory, grpc_at(address), max_elapsed_time=30).accepted == SPANS
    up.set()
    thread.join()
    assert (len(backend.taken), backend.repeats) == (SPANS, 0)


def test_headers_of_the_environment_reach_a_backend_as_metadata(
    backend: GrpcBackend, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20secret, x-scope-orgid = a=b,key-bin=c")
    delivery.exporter_for(grpc_at(address)).export([])
    assert (backend.headers["authorization"], backend.headers["x-scope-orgid"]) == ("Bearer secret", "a=b")
    assert backend.headers["key-bin"] == b"c"

    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "authorization=Basic%20mine")
    delivery.exporter_for(grpc_at(address)).export([])
    assert backend.headers["authorization"] == "Basic mine"
    assert "x-scope-orgid" not in backend.headers


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
@pytest.mark.parametrize(
    "second", ["authorization: Bearer secret", "secret", "x=a%0Asecret", "x=secr%C3%A9t", "x=a;secret"]
)
def test_what_is_no_header_is_named_by_its_number_without_the_secret(
    second: str, protocol: endpoint.Protocol, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", f"a=b,,{second}")
    with pytest.raises(BadInputError) as caught:
        delivery.exporter_for(Endpoint("http://127.0.0.1:9", protocol))
    assert str(caught.value) == (
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS: number 2 is not a header: write it as authorization=Bearer%20..."
    )
    assert capfd.readouterr() == ("", "")


def test_gzip_makes_what_goes_over_the_wire_small(
    run_directory: Path, backend: GrpcBackend, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: dict[str, int] = {}
    for compression in ("none", "gzip"):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", compression)
        with counting(address) as (relay, count):
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{relay}")
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
            found = endpoint.from_environment()
            assert found
            for acknowledgement in run_directory.glob("*.ack"):
                acknowledgement.unlink()
            assert deliver(run_directory, found).accepted == SPANS
            sizes[compression] = count[0]
    assert sizes["gzip"] < sizes["none"] / 2


@contextmanager
def counting(address: str) -> Generator[tuple[str, list[int]]]:
    """Relay one connection to a backend and count the bytes that it gets."""
    host, _, port = address.partition(":")
    count = [0]

    def relay(source: socket.socket, sink: socket.socket, counts: bool) -> None:
        with suppress(OSError):  # either side may end the connection first
            while data := source.recv(65536):
                count[0] += len(data) * counts
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def accept() -> None:
        near, _ = listener.accept()
        with near, socket.create_connection((host, int(port))) as far:
            back = threading.Thread(target=relay, args=(far, near, False), daemon=True)
            back.start()
            relay(near, far, True)
            back.join()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}", count
        thread.join(10)


def test_push_says_all_there_is_to_say_of_a_dead_port_in_one_line(run_directory: Path) -> None:
    done = push(run_directory.parent, "http://127.0.0.1:9", OTEL_EXPORTER_OTLP_TIMEOUT="1")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "scenetest-otel: no answer from http://127.0.0.1:9: Failed to connect to remote host: Connection refused; "
        "is it running, and is this its address?; 1 run not delivered\n"
    )


def test_push_says_which_variable_takes_the_credentials(
    run_directory: Path, backend: GrpcBackend, address: str
) -> None:
    backend.answer, backend.details = "UNAUTHENTICATED", "missing token"
    done = push(run_directory.parent, f"http://{address}")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        f"scenetest-otel: http://{address} answered UNAUTHENTICATED: missing token; set OTEL_EXPORTER_OTLP_HEADERS "
        "to what it asks for, such as authorization=Bearer%20...; 1 run not delivered\n"
    )


def test_push_says_what_was_rejected_and_why(run_directory: Path, backend: GrpcBackend, address: str) -> None:
    backend.answer = "reject"
    done = push(run_directory.parent, f"http://{address}")
    assert done.returncode == 3
    assert done.stdout == f"{SPANS - 9} spans of 1 run delivered to http://{address}\n"
    assert done.stderr == "scenetest-otel: run: 9 spans were rejected by the backend: too old\n"
