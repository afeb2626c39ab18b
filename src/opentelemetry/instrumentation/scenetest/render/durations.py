"""Durations as text."""

from __future__ import annotations


def unit_of(nanoseconds: float) -> tuple[str, float]:
    """Return a readable unit for a duration, and how many nanoseconds it has."""
    if nanoseconds >= 10e9:
        return "s", 1e9
    return ("ms", 1e6) if nanoseconds >= 1e6 else ("us", 1e3)


def clock(seconds: float) -> str:
    """Return a length of time in minutes and seconds, as in 3:40."""
    return f"{int(seconds // 60)}:{int(seconds % 60):02d}"
