"""What a user can do when a backend does not accept spans."""

from __future__ import annotations

CREDENTIALS = "set OTEL_EXPORTER_OTLP_HEADERS to what it asks for, such as authorization=Bearer%20..."
IS_IT_UP = "is it running, and is this its address?"
NO_PROXY = "a proxy is set for this machine's own loopback: set NO_PROXY=localhost,127.0.0.1"
PATH = "OTEL_EXPORTER_OTLP_ENDPOINT is a base to which /v1/traces is added, ..._TRACES_ENDPOINT is taken as it is"
NOT_OTLP = "something else answers at this address, perhaps a proxy or a login page"
TOO_LARGE = "one span is larger than it takes: raise its limit for the size of a request"
NO_TRACES = "it takes no traces: is this the port on which it takes OTLP?"
TRY_GRPC = "if it speaks gRPC, set OTEL_EXPORTER_OTLP_PROTOCOL=grpc"
TRY_HTTP = "it does not speak gRPC: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"
TRY_TLS = "if it speaks TLS, write https:// in the endpoint"
PLAIN = "it does not speak TLS: write http:// in the endpoint"
CERTIFICATE = "OTEL_EXPORTER_OTLP_CERTIFICATE has to name a file with the authority that signed its certificate"
OTHER_NAME = "its certificate is for another host: write in the endpoint a name that the certificate is for"
OUT_OF_DATE = "it needs a new certificate, if the clock of this machine is right"
CLIENT_CERTIFICATE = (
    "if it asks for a client certificate, name one that it accepts with OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE "
    "and OTEL_EXPORTER_OTLP_CLIENT_KEY"
)

# TLS libraries tell these apart only in prose. The first match counts. An alert comes from the other side; gRPC calls
# one that comes after the handshake `Unwrap failed`.
_TLS = {
    "wrong version number": PLAIN,
    "record layer failure": PLAIN,
    "certificate is not valid for": OTHER_NAME,
    "hostname verification check failed": OTHER_NAME,
    "certificate has expired": OUT_OF_DATE,
    "certificate is not yet valid": OUT_OF_DATE,
    "certificate verify failed": CERTIFICATE,
    "alert certificate": CLIENT_CERTIFICATE,
    "alert bad certificate": CLIENT_CERTIFICATE,
    "alert unknown ca": CLIENT_CERTIFICATE,
    "alert handshake failure": CLIENT_CERTIFICATE,
    "unwrap failed": CLIENT_CERTIFICATE,
}


def of_tls(words: str) -> str:
    """Return the hint for a TLS library's error message; empty for an unknown one."""
    plain = words.lower().replace("_", " ")
    return next((hint for sign, hint in _TLS.items() if sign in plain), "")
