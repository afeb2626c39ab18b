"""Why a batch was not accepted, as a sentence with the way out.

The stock exporters tell a caller that it failed, and their logger perhaps why.
"""

from __future__ import annotations

from dataclasses import dataclass

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

# TLS libraries tell these apart in prose only. The first that fits counts. An alert is what the other side said; gRPC
# calls one that comes after the handshake `Unwrap failed`.
_TLS = (
    ("wrong version number", PLAIN),
    ("record layer failure", PLAIN),
    ("certificate is not valid for", OTHER_NAME),
    ("hostname verification check failed", OTHER_NAME),
    ("certificate has expired", OUT_OF_DATE),
    ("certificate is not yet valid", OUT_OF_DATE),
    ("certificate verify failed", CERTIFICATE),
    ("alert certificate", CLIENT_CERTIFICATE),
    ("alert bad certificate", CLIENT_CERTIFICATE),
    ("alert unknown ca", CLIENT_CERTIFICATE),
    ("alert handshake failure", CLIENT_CERTIFICATE),
    ("unwrap failed", CLIENT_CERTIFICATE),
)


def of_tls(words: str) -> str:
    """Return the way out of what a TLS library said; empty for what it isn't known for."""
    plain = words.lower().replace("_", " ")
    return next((way_out for sign, way_out in _TLS if sign in plain), "")


@dataclass
class Refused(Exception):  # noqa: N818 - it is an answer, and often nobody's error
    """A batch that was not accepted.

    Attributes:
        what: what happened, in the backend's words where it had some.
        way_out: what to do about it; empty where waiting is all.
        retry: whether the same batch may be accepted later.
        after: seconds that the backend asked to wait.
        too_large: whether a smaller batch may be accepted.
    """

    what: str
    way_out: str = ""
    retry: bool = False
    after: float | None = None
    too_large: bool = False

    def __str__(self) -> str:
        return f"{self.what}; {self.way_out}" if self.way_out else self.what


class Unencodable(Exception):  # noqa: N818
    """A batch in which the official encoder chokes on at least one span."""


@dataclass(frozen=True)
class Taken:
    """The answer to an accepted batch.

    Attributes:
        rejected: spans of it that the backend threw away.
        message: what it said about that.
    """

    rejected: int = 0
    message: str = ""


def shortened(text: str, limit: int = 200) -> str:
    """Return somebody else's words on one line, cut, without what drives a terminal."""
    line = "".join(char for char in " ".join(text.split()) if char.isprintable())
    return line if len(line) <= limit else line[: limit - 3] + "..."
