"""Delivery over TLS to real servers, over HTTP and gRPC."""

from __future__ import annotations

import socket
import subprocess
import threading
from pathlib import Path

import pytest
from support.backends import Backend, serving
from support.grpc_backend import GrpcBackend, serving_grpc
from support.runner import CLI, eventually
from support.scripts import clean_environment, run_script
from support.tls import Certificates, TlsCollector, serving_tls

from opentelemetry.instrumentation.scenetest.deliver import delivery, endpoint, hints
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Protocol
from opentelemetry.instrumentation.scenetest.deliver.result import ExportError, ExportResult
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.rundir import run_file
from opentelemetry.instrumentation.scenetest.sources import stores

SCENE = "instrument()\nwith case('S', 'c'):\n    with dispatch(): pass"


@pytest.fixture(params=["http/protobuf", "grpc"])
def protocol(request: pytest.FixtureRequest) -> Protocol:
    return request.param


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what this machine says of certificates."""
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)


def send(url: str, protocol: Protocol, **variables: str) -> ExportResult:
    """Send an empty batch as the environment says."""
    named = {"ENDPOINT": url, "PROTOCOL": protocol, "TIMEOUT": "30", **variables}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in named.items():
            patch.setenv(f"OTEL_EXPORTER_OTLP_{name}", value)
        to = endpoint.from_environment()
        assert to
        exporter = delivery.exporter_for(to)
        try:
            return exporter.export([])
        finally:
            exporter.shutdown()


def refused(url: str, protocol: Protocol, **variables: str) -> ExportError:
    with pytest.raises(ExportError) as caught:
        send(url, protocol, **variables)
    return caught.value


def test_a_certificate_of_an_unknown_authority_is_said_with_the_variable_that_names_it(
    protocol: Protocol, certificates: Certificates
) -> None:
    with serving_tls(protocol, certificates.server) as (url, backend):
        answer = refused(url, protocol)
    assert answer.message.startswith(f"no TLS with {url}")
    assert "unable to get local issuer certificate" in answer.message
    assert (answer.hint, answer.retryable, backend.requests) == (hints.CERTIFICATE, False, 0)


def test_the_authority_that_is_named_is_the_one_that_counts(
    protocol: Protocol, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, stranger = certificates.files["authority"], certificates.files["stranger"]
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", stranger)
    with serving_tls(protocol, certificates.server) as (url, backend):
        send(url, protocol, CERTIFICATE=authority)
        send(url, protocol, CERTIFICATE=stranger, TRACES_CERTIFICATE=authority)
        assert refused(url, protocol, CERTIFICATE=stranger).hint == hints.CERTIFICATE
    assert backend.requests == 2


def test_a_certificate_for_another_host_is_said(protocol: Protocol, certificates: Certificates) -> None:
    with serving_tls(protocol, certificates.elsewhere) as (url, _):
        answer = refused(url, protocol, CERTIFICATE=certificates.files["authority"])
    assert answer.message.startswith(f"no TLS with {url}")
    assert (answer.hint, answer.retryable) == (hints.OTHER_NAME, False)


def test_a_certificate_that_is_out_of_date_is_said(protocol: Protocol, certificates: Certificates) -> None:
    with serving_tls(protocol, certificates.expired) as (url, _):
        answer = refused(url, protocol, CERTIFICATE=certificates.files["authority"])
    assert answer.message.endswith("certificate has expired")
    assert (answer.hint, answer.retryable) == (hints.OUT_OF_DATE, False)


@pytest.mark.parametrize("shown", [{}, {"CLIENT_CERTIFICATE": "unknown"}])
def test_a_server_that_asks_for_another_client_certificate_is_said_with_the_variables_that_name_one(
    protocol: Protocol, certificates: Certificates, shown: dict[str, str]
) -> None:
    files = {name: certificates.files[file] for name, file in {"CERTIFICATE": "authority", **shown}.items()}
    with serving_tls(protocol, certificates.server, certificates.authority) as (url, backend):
        # Whether its alert is read before its end of the connection is chance.
        assert hints.CLIENT_CERTIFICATE in refused(url, protocol, **files).hint
    assert backend.requests == 0


def test_a_client_certificate_is_shown_with_its_key_beside_it_or_in_the_same_file(
    protocol: Protocol, certificates: Certificates
) -> None:
    files = certificates.files
    with serving_tls(protocol, certificates.server, certificates.authority) as (url, backend):
        named = {"CERTIFICATE": files["authority"], "CLIENT_KEY": files["client key"]}
        send(url, protocol, **named, CLIENT_CERTIFICATE=files["client"])
        send(url, protocol, **named, CLIENT_CERTIFICATE=files["unknown"], TRACES_CLIENT_CERTIFICATE=files["client"])
        send(url, protocol, CERTIFICATE=files["authority"], CLIENT_CERTIFICATE=files["both"])
    assert backend.requests == 3


@pytest.mark.parametrize(
    ("named", "sentence"),
    [
        ({"CERTIFICATE": "none"}, "{CERTIFICATE} can't be read: No such file or directory"),
        ({"TRACES_CERTIFICATE": "."}, "{TRACES_CERTIFICATE} can't be read: Is a directory"),
        ({"CERTIFICATE": "text"}, "{CERTIFICATE} holds no certificate in PEM form"),
        ({"CERTIFICATE": "client key"}, "{CERTIFICATE} holds no certificate in PEM form"),
        ({"CLIENT_CERTIFICATE": "text"}, "{CLIENT_CERTIFICATE} holds no certificate in PEM form"),
        (
            {"CLIENT_CERTIFICATE": "client"},
            "{CLIENT_CERTIFICATE} needs OTEL_EXPORTER_OTLP_CLIENT_KEY, the file with its key",
        ),
        (
            {"CLIENT_KEY": "client key"},
            "{CLIENT_KEY} needs OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE, the file with the certificate of that key",
        ),
        (
            {"CLIENT_CERTIFICATE": "client", "CLIENT_KEY": "unknown key"},
            "{CLIENT_KEY} is not the key of {CLIENT_CERTIFICATE}",
        ),
        (
            {"CLIENT_CERTIFICATE": "client", "TRACES_CLIENT_KEY": "text"},
            "{TRACES_CLIENT_KEY} holds no key in PEM form without a passphrase",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_named_before_anything_is_sent(
    protocol: Protocol, certificates: Certificates, named: dict[str, str], sentence: str
) -> None:
    folder = Path(certificates.files["text"]).parent
    paths = {name: str(folder / file) for name, file in named.items()}
    said = {name: f"OTEL_EXPORTER_OTLP_{name}={path!r}" for name, path in paths.items()}
    with serving_tls(protocol, certificates.server) as (url, backend), pytest.raises(BadInputError) as caught:
        send(url, protocol, **paths)
    assert str(caught.value) == sentence.format(**said)
    assert backend.requests == 0


def test_files_are_of_no_interest_where_no_tls_is_spoken(protocol: Protocol) -> None:
    with serving(Backend()) as over_http, serving_grpc(GrpcBackend()) as address:
        url = over_http.url if protocol == "http/protobuf" else f"http://{address}"
        assert send(url, protocol, CERTIFICATE="/none") == ExportResult()


def test_tls_is_spoken_over_grpc_where_nothing_says_otherwise(certificates: Certificates) -> None:
    authority = certificates.files["authority"]
    with serving_tls("grpc", certificates.server) as (url, _), serving_grpc(GrpcBackend()) as plain:
        assert send(url.removeprefix("https://"), "grpc", CERTIFICATE=authority) == ExportResult()
        assert send(url.replace("https:", "grpc:"), "grpc", CERTIFICATE=authority) == ExportResult()
        assert send(plain, "grpc", INSECURE="true") == ExportResult()
        assert send(plain, "grpc", INSECURE="false", TRACES_INSECURE="True") == ExportResult()
        assert send(url, "grpc", INSECURE="true", CERTIFICATE=authority) == ExportResult()
        assert refused(plain, "grpc").hint == hints.PLAIN


def test_tls_spoken_to_a_port_that_does_not_is_said(protocol: Protocol) -> None:
    with serving(Backend()) as over_http, serving_grpc(GrpcBackend()) as address:
        url = over_http.url if protocol == "http/protobuf" else f"http://{address}"
        answer = refused(url.replace("http:", "https:"), protocol)
    assert (answer.hint, answer.retryable) == (hints.PLAIN, False)


def test_a_port_that_takes_connections_and_says_nothing_is_given_up_when_the_timeout_has_passed(
    protocol: Protocol,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answer = refused(f"https://127.0.0.1:{listener.getsockname()[1]}", protocol, TIMEOUT="0.5")
    assert answer.message.endswith("did not answer within 0.5 s")
    assert (answer.hint, answer.retryable) == (hints.IS_IT_UP, True)


def test_a_port_that_speaks_tls_only_is_said(protocol: Protocol, certificates: Certificates) -> None:
    with serving_tls(protocol, certificates.server) as (url, _):
        assert hints.TRY_TLS in refused(url.replace("https:", "http:"), protocol).hint


@pytest.mark.parametrize(
    ("protocol", "spoken", "hint"),
    [("http/protobuf", "grpc", hints.TRY_GRPC), ("grpc", "http/protobuf", hints.TRY_HTTP)],
)
def test_the_other_protocol_behind_tls_is_said(
    protocol: Protocol, spoken: Protocol, hint: str, certificates: Certificates
) -> None:
    with serving_tls(spoken, certificates.server) as (url, _):
        assert hint in refused(url, protocol, CERTIFICATE=certificates.files["authority"]).hint


@pytest.mark.parametrize(
    ("alert", "protocol", "hint"),
    [
        (40, "http/protobuf", hints.CLIENT_CERTIFICATE),  # handshake_failure: what TLS 1.2 has for a missing one
        (40, "grpc", hints.CLIENT_CERTIFICATE),
        (42, "http/protobuf", hints.CLIENT_CERTIFICATE),  # bad_certificate
        (42, "grpc", hints.CLIENT_CERTIFICATE),
        (120, "http/protobuf", hints.TRY_GRPC),  # no_application_protocol
        (120, "grpc", hints.TRY_HTTP),
    ],
)
def test_an_alert_of_the_other_side_is_understood(alert: int, protocol: Protocol, hint: str) -> None:
    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(bytes([21, 3, 3, 0, 2, 2, alert]))
            connection.recv(65536)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, daemon=True).start()
        said = refused(f"https://127.0.0.1:{listener.getsockname()[1]}", protocol)
    assert (said.hint, said.retryable) == (hint, False)


@pytest.mark.parametrize("shown", [{}, {"CLIENT_CERTIFICATE": "unknown"}])
def test_the_collector_that_asks_for_another_client_certificate_is_said(
    protocol: Protocol, certificates: Certificates, tls_collector: TlsCollector, shown: dict[str, str]
) -> None:
    files = {name: certificates.files[file] for name, file in {"CERTIFICATE": "authority", **shown}.items()}
    assert hints.CLIENT_CERTIFICATE in refused(tls_collector.urls[protocol], protocol, **files).hint


def test_the_collector_that_speaks_tls_only_is_said(protocol: Protocol, tls_collector: TlsCollector) -> None:
    url = tls_collector.urls[protocol].replace("https:", "http:")
    assert hints.TRY_TLS in refused(url, protocol).hint


@pytest.mark.parametrize(
    ("protocol", "spoken", "hint"),
    [("http/protobuf", "grpc", hints.TRY_GRPC), ("grpc", "http/protobuf", hints.TRY_HTTP)],
)
def test_the_other_protocol_of_the_collector_is_said(
    protocol: Protocol, spoken: Protocol, hint: str, certificates: Certificates, tls_collector: TlsCollector
) -> None:
    named = {"CERTIFICATE": certificates.files["authority"], "CLIENT_CERTIFICATE": certificates.files["both"]}
    assert hint in refused(tls_collector.urls[spoken], protocol, **named).hint


def push(store: Path, url: str, protocol: Protocol, **variables: str) -> subprocess.CompletedProcess[str]:
    named = {"ENDPOINT": url, "PROTOCOL": protocol, **variables}
    env = clean_environment(**{f"OTEL_EXPORTER_OTLP_{name}": value for name, value in named.items()})
    return subprocess.run([CLI, "push", "--dir", str(store)], env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a run that nobody has delivered."""
    run_script(SCENE, env={"SCENETEST_OTEL_DIR": str(tmp_path)})
    return tmp_path


def test_push_says_in_one_line_that_the_authority_is_unknown(certificates: Certificates, store: Path) -> None:
    with serving_tls("http/protobuf", certificates.server) as (url, _):
        done = push(store, url, "http/protobuf")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        f"scenetest-otel: no TLS with {url}/v1/traces: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: "
        "unable to get local issuer certificate; OTEL_EXPORTER_OTLP_CERTIFICATE has to name a file with the authority "
        "that signed its certificate; 1 run not delivered\n"
    )


def test_push_says_in_one_line_which_file_cannot_be_used(certificates: Certificates, store: Path) -> None:
    key = certificates.files["client key"]
    done = push(store, "https://127.0.0.1:9", "grpc", CLIENT_KEY=key)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"scenetest-otel: OTEL_EXPORTER_OTLP_CLIENT_KEY={key!r} needs OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE, "
        "the file with the certificate of that key\n"
    )


def test_push_delivers_to_a_collector_that_asks_for_a_client_certificate(
    certificates: Certificates, tls_collector: TlsCollector, store: Path
) -> None:
    url = tls_collector.urls["grpc"]
    named = {"CERTIFICATE": certificates.files["authority"], "CLIENT_CERTIFICATE": certificates.files["both"]}
    done = push(store, url, "grpc", **named)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", f"2 spans of 1 run delivered to {url}\n")
    (run,) = stores.all_runs(str(store))
    eventually(lambda: run_file.read(run)["id"] in tls_collector.spans_file.read_text())


def test_a_relative_path_is_found_by_the_process_that_delivers(certificates: Certificates, tmp_path: Path) -> None:
    folder, _, name = certificates.files["authority"].rpartition("/")
    with serving_tls("http/protobuf", certificates.server) as (url, backend):
        env = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": url,
            "OTEL_EXPORTER_OTLP_CERTIFICATE": name,
            "SCENETEST_OTEL_DIR": str(tmp_path),
            "SCENETEST_OTEL_EXIT_WAIT": "30",
        }
        done = run_script(f"import os\nos.chdir({folder!r})\n{SCENE}", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(backend.taken) == 2
