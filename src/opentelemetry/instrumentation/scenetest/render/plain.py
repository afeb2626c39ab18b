"""Text that others wrote, on the reader's terminal."""

from __future__ import annotations


def plain(text: str) -> str:
    """Return text that can't drive the reader's terminal or break the line."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)
