"""Reads the native timing markers out of a harness log.

`native/markers.py` lists the markers. All other text is ignored. Several processes write to one file, so two records
can share a line, and a record can be torn. Nothing is skipped silently: a line that begins like a native marker and
can't be read comes out as `Unreadable`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import itemgetter
from typing import BinaryIO

from opentelemetry.instrumentation.scenetest.native.markers import MARKERS, Marker, Record, Unreadable

_BLOCK = 1 << 18  # bytes read at once
_LONGEST_RECORD = 4096  # the writer keeps spans below 512 bytes, so that a pipe takes each in one piece
_PLACEHOLDERS = {
    # 18 digits fit 64 bits even after an addition. The writer ends every record with a space or a newline: without it
    # the last number may have run into the next record and lack digits.
    b"<n>": rb"(\d{1,18})",
    b"<u>": rb"(\d{1,20})",
    b"<rest>": rb"(?=\s)([^\[\r\n]{0,4096})",
}


def _compiled(marker: Marker) -> re.Pattern[bytes]:
    grammar = marker.grammar
    for placeholder, pattern in _PLACEHOLDERS.items():
        grammar = grammar.replace(placeholder, pattern)
    return re.compile(re.escape(marker.announcement) + grammar)


_GRAMMARS = tuple((marker, _compiled(marker)) for marker in MARKERS)
_OTHER_VERSION = re.compile(rb"(?!1 )\d+ ")


def read(file: BinaryIO) -> Iterator[Record]:
    """Yield every record of a log in its order, in constant memory even where lines are long."""
    for block in _blocks(file):
        found = [(at, *each) for each in _GRAMMARS for at in _positions(block, each[0].announcement)]
        for at, marker, grammar in sorted(found, key=itemgetter(0)):
            if match := grammar.match(block, at):
                yield marker.record(match)
            elif marker.is_native:
                foreign = _OTHER_VERSION.match(block, at + len(marker.announcement))
                yield Unreadable("version" if foreign else "torn")


def _positions(block: bytes, announcement: bytes) -> Iterator[int]:
    at = block.find(announcement)
    while at >= 0:
        yield at
        at = block.find(announcement, at + len(announcement))


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the file in pieces that end with a line, each with the newline before it."""
    rest = b"\n"
    while piece := file.read(_BLOCK):
        block = rest + piece
        cut = block.rfind(b"\n")
        if cut > 0:
            yield block[: cut + 1]
        else:
            # A long line: a record may begin at the last bracket and go on in the next piece.
            cut = block.rfind(b"[", max(0, len(block) - _LONGEST_RECORD))
            cut = len(block) if cut < 0 else cut
            yield block[:cut]
        rest = block[cut:]
    yield rest
