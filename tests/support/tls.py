"""Backends with TLS, and certificates that are made for each session."""

from __future__ import annotations

import datetime
import socket
import ssl
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import gobuild
import grpc
import pytest
import trustme

from opentelemetry.instrumentation.scenetest.deliver.endpoint import Protocol
from support.backends import Backend, serving
from support.grpc_backend import GrpcBackend, serving_grpc
from support.runner import eventually

LAST_YEAR = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=365)


@dataclass(frozen=True)
class Certificates:
    """Server certificates, and the files that a client needs.

    Attributes:
        authority: the authority that signed the server certificates, and must sign client certificates.
        server: for 127.0.0.1.
        elsewhere: for another host.
        expired: for 127.0.0.1, until last year.
        files: by name.
    """

    authority: trustme.CA
    server: trustme.LeafCert
    elsewhere: trustme.LeafCert
    expired: trustme.LeafCert
    files: dict[str, str]


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("certificates")
    authority, stranger = trustme.CA(), trustme.CA()
    server, client, unknown = authority.issue_cert("127.0.0.1"), authority.issue_cert("me"), stranger.issue_cert("me")
    blobs = {
        "authority": authority.cert_pem,
        "stranger": stranger.cert_pem,
        "server": server.cert_chain_pems[0],
        "server key": server.private_key_pem,
        "client": client.cert_chain_pems[0],
        "client key": client.private_key_pem,
        "both": client.private_key_and_cert_chain_pem,
        "unknown": unknown.private_key_and_cert_chain_pem,
        "unknown key": unknown.private_key_pem,
    }
    for name, blob in blobs.items():
        blob.write_to_path(folder / name)
    (folder / "text").write_text("no certificate\n")
    return Certificates(
        authority,
        server,
        authority.issue_cert("otlp.example.com"),
        authority.issue_cert("127.0.0.1", not_before=LAST_YEAR - datetime.timedelta(days=9), not_after=LAST_YEAR),
        {path.name: str(path) for path in folder.iterdir()},
    )


@contextmanager
def serving_tls(
    protocol: Protocol, certificate: trustme.LeafCert, clients: trustme.CA | None = None
) -> Generator[tuple[str, Backend]]:
    """Start a backend with a certificate. With an authority for clients, it requires a client certificate."""
    if protocol == "grpc":
        pair = certificate.private_key_pem.bytes(), certificate.cert_chain_pems[0].bytes()
        asked = clients.cert_pem.bytes() if clients else None
        over_grpc = GrpcBackend()
        with serving_grpc(over_grpc, tls=grpc.ssl_server_credentials([pair], asked, bool(clients))) as address:
            yield f"https://{address}", over_grpc
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        clients.configure_trust(context)
    with serving(Backend(), tls=context) as over_http:
        yield over_http.url, over_http


@dataclass(frozen=True)
class TlsCollector:
    """Start a collector that requires client certificates. Return its URLs by protocol, and its file of spans."""

    urls: dict[Protocol, str]
    spans_file: Path


@pytest.fixture(scope="session")
def tls_collector(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsCollector]:
    folder, files = tmp_path_factory.mktemp("collector"), certificates.files
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    over_http, over_grpc = (probe.getsockname()[1] for probe in probes)
    for probe in probes:
        probe.close()
    tls = f"{{cert_file: {files['server']}, key_file: {files['server key']}, client_ca_file: {files['authority']}}}"
    (folder / "collector.yaml").write_text(f"""
        receivers:
          otlp:
            protocols:
              http: {{endpoint: "127.0.0.1:{over_http}", tls: {tls}}}
              grpc: {{endpoint: "127.0.0.1:{over_grpc}", tls: {tls}}}
        exporters:
          file: {{path: {folder / "spans.jsonl"}}}
        service:
          telemetry: {{metrics: {{level: none}}}}
          pipelines:
            traces: {{receivers: [otlp], exporters: [file]}}
    """)
    command = [str(gobuild.ensure(gobuild.COLLECTOR)), f"--config={folder / 'collector.yaml'}"]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            for port in (over_http, over_grpc):
                eventually(lambda port=port: _listens(port))
            yield TlsCollector(
                {"http/protobuf": f"https://127.0.0.1:{over_http}", "grpc": f"https://127.0.0.1:{over_grpc}"},
                folder / "spans.jsonl",
            )
        finally:
            process.kill()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
