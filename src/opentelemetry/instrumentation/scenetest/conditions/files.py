"""Reading small files of the system, which may not be there."""

from __future__ import annotations

import os

_CHUNK = 1 << 16


def read(path: str) -> str:
    """Return a file's text without surrounding white space; empty where it can't be read."""
    # By system calls: `open` takes three times as long, and this is called with every case.
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return ""
    try:
        data = b""
        while chunk := os.read(descriptor, _CHUNK):
            data += chunk
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return data.decode("utf-8", "replace").strip()


def launch_environment() -> dict[str, str] | None:
    """Return the environment that this process was started with; None where `setproctitle`, say, overwrote it."""
    try:
        with open("/proc/self/environ", "rb") as file:
            *entries, rest = file.read().split(b"\0")
    except OSError:
        return None
    if rest or not all(b"=" in entry for entry in entries):
        return None
    pairs = (os.fsdecode(entry).partition("=") for entry in reversed(entries))
    return {name: value for name, _, value in pairs}
