"""Delivery of a recorded run to backends that accept it and to backends that don't, with counts."""

from __future__ import annotations

import threading
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import Link
from support import recorded
from support.backends import Backend, serving
from support.recorded import DISPATCHES, SPANS

from opentelemetry.instrumentation.scenetest.deliver import delivery, endpoint, hints, spans
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.deliver.result import ExportError, ExportResult, shortened
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.rundir import checkpoint, layout, run_file
from opentelemetry.instrumentation.scenetest.rundir.reader import Journal

NEVER = ("silence", "drip")
"""Answers that come after a minute, or complete after a quarter of one."""


def deliver(directory: Path, url: str, *, max_elapsed_time: float = 0, timeout: float = 30) -> delivery.Tally:
    return recorded.deliver(directory, Endpoint(f"{url}/v1/traces", "http/protobuf", timeout), max_elapsed_time)


def undelivered(directory: Path) -> bool:
    return not delivery.is_delivered(directory)


def test_every_span_is_accepted_once(run_directory: Path, backend: Backend) -> None:
    tally = deliver(run_directory, backend.url)
    assert (tally.accepted, len(backend.taken), backend.repeats) == (SPANS, SPANS, 0)
    assert not undelivered(run_directory)


def test_what_was_accepted_is_not_sent_again(run_directory: Path, backend: Backend) -> None:
    deliver(run_directory, backend.url)
    backend.requests = 0
    assert deliver(run_directory, backend.url).accepted == 0
    assert backend.requests == 0


@pytest.mark.parametrize(
    ("answer", "what", "hint"),
    [
        ("503", "answered 503 Service Unavailable", ""),
        ("404", "answered 404 Not Found", hints.PATH),
        ("401", "answered 401 Unauthorized", hints.CREDENTIALS),
        ("403", "answered 403 Forbidden", hints.CREDENTIALS),
        ("redirect", "answered 302 Found, a redirect to /login", hints.NOT_OTLP),
        ("html", "answered 200 OK with text/html instead of application/x-protobuf", hints.NOT_OTLP),
        ("silence", "did not answer within 1 s", hints.IS_IT_UP),
        ("drip", "did not answer within 1 s", hints.IS_IT_UP),
        ("take and hang up", "no answer from", hints.IS_IT_UP),
    ],
)
def test_a_backend_that_does_not_accept_is_named_with_the_way_out_and_nothing_is_lost(
    run_directory: Path, backend: Backend, answer: str, what: str, hint: str
) -> None:
    backend.answer = answer
    with pytest.raises(ExportError) as caught:
        deliver(run_directory, backend.url, timeout=1 if answer in NEVER else 30)
    assert what in caught.value.message
    assert caught.value.hint == hint
    assert backend.requests == 1
    assert undelivered(run_directory)

    repeated = len(backend.taken)
    backend.answer = "accept"
    assert deliver(run_directory, backend.url).accepted == SPANS
    assert len(backend.taken) == SPANS
    assert backend.repeats == repeated == (spans.BATCH if answer == "take and hang up" else 0)


def test_nobody_listening_is_said_with_the_address(run_directory: Path) -> None:
    with pytest.raises(
        ExportError, match=r"no answer from http://127\.0\.0\.1:9/v1/traces: Connection refused; is it running"
    ):
        deliver(run_directory, "http://127.0.0.1:9")


def test_of_an_answer_without_end_only_the_beginning_is_read(run_directory: Path, backend: Backend) -> None:
    backend.answer = "endless"
    with pytest.raises(ExportError) as caught:
        deliver(run_directory, backend.url)
    assert caught.value.message.endswith("answered 200 OK with something that is no OTLP answer")
    assert caught.value.hint == hints.NOT_OTLP


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), (" 7 ", 7.0), ("\u00b2", None), ("-1", None), ("1e9", None), ("Tue, 01 Dec 2026 00:00:00 GMT", None)],
)
def test_the_seconds_of_retry_after_are_heeded_and_nothing_else(
    run_directory: Path, backend: Backend, header: str, seconds: float | None
) -> None:
    backend.answer, backend.more_headers = "503", {"Retry-After": header}
    with pytest.raises(ExportError) as caught:
        deliver(run_directory, backend.url)
    assert (caught.value.retryable, caught.value.retry_after) == (True, seconds)


def test_a_backend_that_asks_for_more_time_than_there_is_is_given_up_at_once(
    run_directory: Path, backend: Backend
) -> None:
    backend.answer, backend.more_headers = "503", {"Retry-After": "9" * 400}
    with pytest.raises(ExportError) as caught:
        deliver(run_directory, backend.url, max_elapsed_time=60)
    assert caught.value.retry_after == float("inf")
    assert backend.requests == 1


def test_what_a_backend_says_is_cut(run_directory: Path, backend: Backend) -> None:
    backend.answer, backend.more_headers = "redirect", {"Location": "/" + 60_000 * "x"}
    with pytest.raises(ExportError) as caught:
        deliver(run_directory, backend.url)
    assert len(str(caught.value)) < 500


def test_rejected_spans_are_counted_in_the_backends_words_and_not_repeated(
    run_directory: Path, backend: Backend
) -> None:
    backend.answer = "reject"
    tally = deliver(run_directory, backend.url)
    assert (tally.accepted, tally.rejected, tally.message) == (SPANS - 9, 9, "too old")
    assert backend.repeats == 0
    assert not undelivered(run_directory)


def test_a_backend_rejects_no_more_than_it_was_sent_and_says_nothing_to_the_terminal(run_directory: Path) -> None:
    class Confused:
        def export(self, batch: Sequence[ReadableSpan], /) -> ExportResult:
            return ExportResult(rejected=10 * len(batch), message=shortened("\x1b[31mtoo\n old"))

        def shutdown(self) -> None:
            pass

    tally = delivery.Delivery(run_directory, run_file.read(run_directory), Confused(), 0).deliver()
    assert (tally.accepted, tally.rejected, tally.message) == (0, SPANS, "[31mtoo old")


def test_a_backend_that_comes_up_later_gets_everything(run_directory: Path) -> None:
    with serving(Backend()) as first:
        port = int(first.url.rpartition(":")[2])
    late = Backend()

    def come_up() -> None:
        time.sleep(0.3)
        with serving(late, port):
            late.stopping.wait(5)

    thread = threading.Thread(target=come_up)
    thread.start()
    assert deliver(run_directory, f"http://127.0.0.1:{port}", max_elapsed_time=30).accepted == SPANS
    late.stopping.set()
    thread.join()
    assert (len(late.taken), late.repeats) == (SPANS, 0)


def test_a_delivery_that_was_cut_off_goes_on_where_the_backend_stopped_accepting(
    run_directory: Path, backend: Backend
) -> None:
    exporter = delivery.exporter_for(Endpoint(f"{backend.url}/v1/traces", "http/protobuf", 30))

    def refuse_after_the_first(tally: delivery.Tally) -> None:
        backend.answer = "503"

    current = delivery.Delivery(run_directory, run_file.read(run_directory), exporter, 0, refuse_after_the_first)
    with pytest.raises(ExportError):
        current.deliver()
    exporter.shutdown()
    assert len(backend.taken) == spans.BATCH
    backend.answer = "accept"
    assert deliver(run_directory, backend.url).accepted == SPANS - spans.BATCH
    assert (len(backend.taken), backend.repeats) == (SPANS, 0)


def test_a_span_that_cannot_be_encoded_is_set_aside_alone(
    run_directory: Path, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_journal = spans.of_journal

    def poisoned(journal: Journal, run: Mapping[str, object], case_links: list[Link]) -> Iterator[ReadableSpan]:
        for number, span in enumerate(of_journal(journal, run, case_links)):
            yield ReadableSpan("\ud800", context=span.context) if number == 700 else span

    monkeypatch.setattr(spans, "of_journal", poisoned)
    tally = deliver(run_directory, backend.url)
    assert (tally.accepted, tally.set_aside) == (SPANS - 1, 1)
    assert (len(backend.taken), backend.repeats) == (SPANS - 1, 0)


def test_a_span_that_is_too_large_for_a_backend_is_named_with_the_way_out_and_not_lost(
    run_directory: Path, backend: Backend
) -> None:
    backend.answer = "413"
    with pytest.raises(ExportError) as caught:
        deliver(run_directory, backend.url)
    assert caught.value.hint == hints.TOO_LARGE
    backend.answer = "accept"
    assert deliver(run_directory, backend.url).accepted == SPANS
    assert backend.repeats == 0


def test_batches_that_are_too_large_for_a_backend_are_halved(run_directory: Path, backend: Backend) -> None:
    exporter = delivery.exporter_for(Endpoint(f"{backend.url}/v1/traces", "http/protobuf", 30))

    class Small:
        def export(self, batch: Sequence[ReadableSpan], /) -> ExportResult:
            if len(batch) > 200:
                raise ExportError("413", too_large=True)
            return exporter.export(batch)

        def shutdown(self) -> None:
            exporter.shutdown()

    current = delivery.Delivery(run_directory, run_file.read(run_directory), Small(), 0)
    assert current.deliver().accepted == SPANS
    exporter.shutdown()
    assert (len(backend.taken), backend.repeats) == (SPANS, 0)


def test_what_another_host_wrote_is_not_declared_dead(run_directory: Path, backend: Backend) -> None:
    (path,) = run_directory.glob(f"*{layout.JOURNAL_SUFFIX}")
    lines = path.read_text().splitlines(keepends=True)
    here, elsewhere = f'"host":"{Path("/proc/sys/kernel/hostname").read_text().strip()}"', '"host":"elsewhere"'
    path.write_text("".join(lines[:-2]).replace(here, elsewhere))
    assert deliver(run_directory, backend.url).accepted == DISPATCHES
    assert undelivered(run_directory)
    assert checkpoint.read(checkpoint.stem(path)).spans == DISPATCHES


def test_what_another_host_wrote_is_delivered_whole_if_its_process_says_that_it_ended(
    run_directory: Path, backend: Backend
) -> None:
    (path,) = run_directory.glob(f"*{layout.JOURNAL_SUFFIX}")
    here, elsewhere = f'"host":"{Path("/proc/sys/kernel/hostname").read_text().strip()}"', '"host":"elsewhere"'
    path.write_text(path.read_text().replace(here, elsewhere))
    assert deliver(run_directory, backend.url).accepted == SPANS
    assert not undelivered(run_directory)


@pytest.mark.parametrize(
    ("environment", "url", "protocol"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4318"}, "http://h:4318/v1/traces", "http/protobuf"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4318/base/"}, "http://h:4318/base/v1/traces", "http/protobuf"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://h:9/as/is"}, "http://h:9/as/is", "http/protobuf"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4317"}, "http://h:4317", "grpc"),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
            "http://h:4317/v1/traces",
            "http/protobuf",
        ),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "h:9", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, "h:9", "grpc"),
    ],
)
def test_the_endpoint_is_the_one_that_opentelemetry_specifies(
    environment: dict[str, str], url: str, protocol: str
) -> None:
    found = endpoint.from_environment(environment)
    assert found is not None
    assert (found.url, found.protocol) == (url, protocol)


def test_what_is_set_for_traces_comes_first() -> None:
    of_all = {"PROTOCOL": "http/protobuf", "TIMEOUT": "3", "COMPRESSION": "deflate"}
    of_traces = {"TRACES_PROTOCOL": "grpc", "TRACES_TIMEOUT": "0.5", "TRACES_COMPRESSION": "gzip"}
    named = {"ENDPOINT": "http://h:9", **of_all, **of_traces}
    found = endpoint.from_environment({f"OTEL_EXPORTER_OTLP_{name}": value for name, value in named.items()})
    assert found == Endpoint("http://h:9", "grpc", 0.5, "gzip")


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("PROTOCOL", "http/json", "='http/json' is not supported: use grpc or http/protobuf"),
        ("TIMEOUT", "10s", "='10s' is not a number of seconds above 0 and up to 86400"),
        ("COMPRESSION", "zstd", "='zstd' is not supported over http/protobuf: use none, gzip, deflate"),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(name: str, value: str, sentence: str) -> None:
    with pytest.raises(BadInputError) as caught:
        endpoint.from_environment({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4318", f"OTEL_EXPORTER_OTLP_{name}": value})
    assert str(caught.value) == f"OTEL_EXPORTER_OTLP_{name}{sentence}"


@pytest.mark.parametrize("compression", ["gzip", "deflate"])
def test_headers_and_compression_of_the_environment_are_used(
    run_directory: Path, backend: Backend, monkeypatch: pytest.MonkeyPatch, compression: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", backend.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", compression)
    found = endpoint.from_environment()
    assert found is not None
    exporter = delivery.exporter_for(found)
    delivery.Delivery(run_directory, run_file.read(run_directory), exporter, 0).deliver()
    exporter.shutdown()
    assert backend.headers["authorization"] == "Bearer secret"
    assert backend.headers["Content-Encoding"] == compression
    assert len(backend.taken) == SPANS


def test_credentials_that_are_named_come_before_those_of_the_url_and_of_netrc(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_password = f"{backend.url}/v1/traces".replace("//", "//me:secret@")
    delivery.exporter_for(Endpoint(with_password, "http/protobuf", 30)).export([])
    assert backend.headers["Authorization"] == f"Basic {b64encode(b'me:secret').decode()}"

    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password mine\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret")
    delivery.exporter_for(Endpoint(with_password, "http/protobuf", 30)).export([])
    assert backend.headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("url", "protocol"),
    [
        ("http://me:secret@127.0.0.1:9/v1/traces", "http/protobuf"),
        ("http://me:secret@127.0.0.1:9", "grpc"),
        ("me:secret@127.0.0.1:9", "grpc"),
    ],
)
def test_a_password_in_the_url_is_not_told(url: str, protocol: endpoint.Protocol) -> None:
    with pytest.raises(ExportError) as caught:
        delivery.exporter_for(Endpoint(url, protocol, 30)).export([])
    assert "127.0.0.1:9" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_proxy_that_swallows_localhost_is_named(
    run_directory: Path, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.answer = "503"
    monkeypatch.setenv("http_proxy", backend.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(ExportError) as caught:
        deliver(run_directory, "http://127.0.0.1:4318", max_elapsed_time=30)
    assert caught.value.hint == hints.NO_PROXY


def test_a_backend_that_restarts_in_the_middle_gets_everything_once(run_directory: Path, backend: Backend) -> None:
    exporter = delivery.exporter_for(Endpoint(f"{backend.url}/v1/traces", "http/protobuf", 30))

    def go_down_for_a_second_attempt(tally: delivery.Tally) -> None:
        backend.answer = "accept" if tally.failure else "503"

    facts = run_file.read(run_directory)
    current = delivery.Delivery(run_directory, facts, exporter, 30, go_down_for_a_second_attempt)
    assert current.deliver().accepted == SPANS
    exporter.shutdown()
    assert (len(backend.taken), backend.repeats) == (SPANS, 0)
    assert backend.requests == 3 + 2  # three batches, and one more attempt after each of the first two
