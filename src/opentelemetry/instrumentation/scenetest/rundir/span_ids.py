"""A set of span ids that stays small for those of a journal."""

from __future__ import annotations

_BITS = 6


class SpanIds:
    """Span ids. The recorder counts them up, so a million of one process take 2 MB: a bit for each."""

    __slots__ = ("_words",)

    def __init__(self) -> None:
        self._words: dict[int, int] = {}

    def add(self, span_id: str) -> None:
        """Add an id of hexadecimal digits."""
        number = int(span_id, 16)
        word = number >> _BITS
        self._words[word] = self._words.get(word, 0) | 1 << (number & (1 << _BITS) - 1)

    def __contains__(self, span_id: str) -> bool:
        number = int(span_id, 16)
        return bool(self._words.get(number >> _BITS, 0) >> (number & (1 << _BITS) - 1) & 1)
