"""The files of a TLS connection, checked before anything is sent.

requests reports a bad file only with the first batch, in words of its own. gRPC does not report it at all: half of a
key pair makes it abort the process.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint, variable
from opentelemetry.instrumentation.scenetest.errors import BadInputError

_AUTHORITY = "OTEL_EXPORTER_OTLP_CERTIFICATE"
_CERTIFICATE = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"
_KEY = "OTEL_EXPORTER_OTLP_CLIENT_KEY"


@dataclass(frozen=True)
class TlsFiles:
    """Paths of files in PEM form.

    Attributes:
        authority: the certificate authority of the backend; empty for those that the libraries know.
        certificate: the client certificate; empty for none.
        key: the key of the client certificate.
    """

    authority: str = ""
    certificate: str = ""
    key: str = ""


def files(endpoint: Endpoint) -> TlsFiles:
    """Return the files that the environment names for an endpoint: none where no TLS is spoken.

    A client certificate may have its key in the same file.

    Raises:
        BadInputError: one of them can't be used.
    """
    if not endpoint.has_tls:
        return TlsFiles()
    authority, certificate, key = map(_readable, (_AUTHORITY, _CERTIFICATE, _KEY))
    for name, path in ((_AUTHORITY, authority), (_CERTIFICATE, certificate)):
        if path:
            _check_certificate(name, path)
    if key and not certificate:
        raise BadInputError(f"{_setting(_KEY)} needs {_CERTIFICATE}, the file with the certificate of that key")
    if certificate:
        _check_pair(certificate, key)
    return TlsFiles(authority, certificate, key or certificate)


def _readable(name: str) -> str:
    _, path = variable(name)
    try:
        if path:
            Path(path).read_bytes()
    except OSError as error:
        raise BadInputError(f"{_setting(name)} can't be read: {error.strerror}") from error
    return path


def _check_certificate(name: str, path: str) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError as error:
        raise BadInputError(f"{_setting(name)} holds no certificate in PEM form") from error


def _check_pair(certificate: str, key: str) -> None:
    try:
        # With an empty passphrase OpenSSL asks nobody for one.
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate, key or None, password="")
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            problem = f"{_setting(_KEY)} is not the key of {_setting(_CERTIFICATE)}"
        elif key:
            problem = f"{_setting(_KEY)} holds no key in PEM form without a passphrase"
        else:
            problem = f"{_setting(_CERTIFICATE)} needs {_KEY}, the file with its key"
        raise BadInputError(problem) from error


def _setting(name: str) -> str:
    """Return a variable and its value, as `NAME='value'`."""
    return "{}={!r}".format(*variable(name))
