"""Formats durations."""

from __future__ import annotations


def unit_of(nanoseconds: float) -> tuple[str, float]:
    """Return a suitable unit for a duration, and its length in nanoseconds."""
    if nanoseconds >= 10e9:
        return "s", 1e9
    return ("ms", 1e6) if nanoseconds >= 1e6 else ("us", 1e3)


def clock(seconds: float) -> str:
    """Return a time in minutes and seconds, such as 3:40."""
    return f"{int(seconds // 60)}:{int(seconds % 60):02d}"
