"""A module with providers of credentials for OTLP: one that signs, one that trusts an authority, one that fails."""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path

import grpc
import requests
from requests.auth import AuthBase


class Signed(AuthBase):
    """Signs the body of each request."""

    def __call__(self, r: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the signature to a request."""
        body = r.body if isinstance(r.body, bytes) else b""
        r.headers["X-Signature"] = hmac.new(b"key", body, hashlib.sha256).hexdigest()
        return r


def signing() -> requests.Session:
    """Return a session that signs its requests."""
    session = requests.Session()
    session.auth = Signed()
    return session


def trusting() -> grpc.ChannelCredentials:
    """Return credentials that trust the authority in the file `AUTHORITY`."""
    return grpc.ssl_channel_credentials(Path(os.environ["AUTHORITY"]).read_bytes())


def failing() -> None:
    """Raise an error."""
    raise ValueError("the secret is secret")
