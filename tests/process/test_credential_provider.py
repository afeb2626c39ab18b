"""Credential providers, which the official exporters load by an entry point."""

from __future__ import annotations

import hashlib
import hmac
import subprocess
from pathlib import Path

import pytest
from support.backends import Backend
from support.runner import CLI
from support.scripts import PROGRAMS, clean_environment
from support.tls import Certificates, serving_tls


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A directory with an installed package that has providers."""
    (tmp_path / "providers.py").write_text((PROGRAMS / "credential_providers.py").read_text())
    info = tmp_path / "providers-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: providers\nVersion: 1\n")
    names = ("signing", "trusting", "failing")
    entries = "".join(f"{name} = providers:{name}\n" for name in names)
    (info / "entry_points.txt").write_text(f"[opentelemetry_otlp_credential_provider]\n{entries}")
    return tmp_path


def push(packages: Path, run_directory: Path, url: str, **env: str) -> subprocess.CompletedProcess[str]:
    named = {"PYTHONPATH": str(packages), "OTEL_EXPORTER_OTLP_ENDPOINT": url, **env}
    command = [CLI, "push", str(run_directory)]
    return subprocess.run(command, env=clean_environment(**named), capture_output=True, text=True, check=False)


@pytest.mark.parametrize("variable", ["HTTP_CREDENTIAL_PROVIDER", "HTTP_TRACES_CREDENTIAL_PROVIDER"])
def test_a_provider_signs_each_request(variable: str, packages: Path, run_directory: Path, backend: Backend) -> None:
    backend.answer = "reject"
    done = push(packages, run_directory, backend.url, **{f"OTEL_PYTHON_EXPORTER_OTLP_{variable}": "signing"})
    # The session of the provider does not hide the answer.
    assert done.stderr == "scenetest-otel: run: 9 spans were rejected by the backend: too old\n"
    assert backend.requests == 3
    assert backend.headers["X-Signature"] == hmac.new(b"key", backend.body, hashlib.sha256).hexdigest()


def test_a_provider_makes_the_credentials_of_a_grpc_channel(
    packages: Path, run_directory: Path, certificates: Certificates
) -> None:
    env = {
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_PYTHON_EXPORTER_OTLP_GRPC_CREDENTIAL_PROVIDER": "trusting",
        "AUTHORITY": certificates.files["authority"],
    }
    with serving_tls("grpc", certificates.server) as (url, backend):
        done = push(packages, run_directory, url, **env)
    assert (done.returncode, done.stderr) == (0, "")
    assert backend.requests == 3


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("unknown", "no installed package has a credential provider of this name"),
        ("failing", "the provider failed with ValueError"),
        ("trusting", "it has to make a Session for http/protobuf, and makes a ChannelCredentials"),
    ],
)
def test_a_provider_that_cannot_be_used_is_named_without_its_words(
    name: str, problem: str, packages: Path, run_directory: Path, backend: Backend, certificates: Certificates
) -> None:
    variable = "OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER"
    env = {variable: name, "AUTHORITY": certificates.files["authority"]}
    done = push(packages, run_directory, backend.url, **env)
    assert (done.returncode, backend.requests) == (2, 0)
    assert done.stderr == f"scenetest-otel: {variable}={name!r}: {problem}\n"
