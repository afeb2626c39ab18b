"""Reading small files of the system, which may not be there."""

from __future__ import annotations


def read(path: str) -> str:
    """Return a file's text without surrounding white space; empty where it can't be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""
