"""The native timing markers of a harness log, as typed records.

The harness's C++ runtime writes one line per span, at the end of the span (so children precede their parents):

    [STRACE] v=1 pid= tid= inv= hid=<hex> depth= name=<dotted> ts=<ns> dur=<ns> [k=v ...]
    [CLOCK_ANCHOR] v=1 pid= mono_ns= wall_ns=
    [HOSTLOG_DROPS] v=1 pid= new= total= [reason=n ...]
    [<file>] bind phase=<word> start_ns= dur_ns= [k=v ...]          (until bind segments became spans of their own)

Whatever else stands on a line is ignored. Several processes write to one file, so that two records can share a
physical line and a record can be torn; nothing is skipped in silence: what begins like a record and cannot be read
comes out as `Unreadable`. Names and values are percent-encoded by the writer, which ends a cut one with `~`; the mark
is kept. `[` never occurs inside a record, for the writer encodes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from operator import itemgetter
from typing import BinaryIO, NamedTuple, TypeAlias
from urllib.parse import unquote_to_bytes

Value: TypeAlias = int | float | str

BIND = "chip.run.bind"

_BLOCK = 1 << 18  # bytes read at once
_LONGEST_RECORD = 4096  # the writer keeps spans under 512 bytes, so that a pipe takes each in one piece
_NO_ATTRIBUTES: Mapping[str, Value] = {}


class Span(NamedTuple):
    """One `[STRACE]` record.

    `start_ns` is CLOCK_MONOTONIC, except where `on_device`: there it is an offset on the device's own clock, comparable
    with the other device spans of the same pass only. A pass, one run of the native runtime, is `(pid, inv)`.
    """

    pid: int
    tid: int
    inv: int
    hid: str
    depth: int
    name: str
    start_ns: int
    duration_ns: int
    attributes: Mapping[str, Value]

    @property
    def on_device(self) -> bool:
        """Whether `start_ns` is an offset on the device's clock."""
        return self.attributes.get("clk") == "dev"


class BindPhase(NamedTuple):
    """One `bind phase=` line, under the name that newer harnesses give it as a span. It names no process."""

    name: str
    start_ns: int
    duration_ns: int
    attributes: Mapping[str, Value]


class ClockAnchor(NamedTuple):
    """CLOCK_MONOTONIC and wall clock of one process at one instant."""

    pid: int
    mono_ns: int
    wall_ns: int


class Drops(NamedTuple):
    """How many records the writer of one process has lost so far, and why."""

    pid: int
    total: int
    reasons: Mapping[str, Value]


class Unreadable(NamedTuple):
    """What begins like a record and cannot be read: `torn`, or of another `version` of the format."""

    reason: str


class RuntimeHeader(NamedTuple):
    """The line before a group of cases: `=== Runtime: <runtime>  Level: <n> ===`."""

    runtime: str
    level: int


class CaseLine(NamedTuple):
    """A case begins (`outcome` is None), or ends with `pass` or `fail`."""

    suite: str
    name: str
    outcome: str | None


class Stamp(NamedTuple):
    """The `[stamp]` line of the harness's measuring recipe: revision, environment and command."""

    text: str


class AutoloadLine(NamedTuple):
    """The `torch_backend_autoload` line, from its first word on."""

    text: str


Record: TypeAlias = (
    Span | BindPhase | ClockAnchor | Drops | Unreadable | RuntimeHeader | CaseLine | Stamp | AutoloadLine
)

_NUMBER = re.compile(rb"-?\d{1,18}(?:\.\d{1,18})?")
_OUTCOMES: dict[bytes, str | None] = {b"...": None, b"PASSED": "pass", b"FAILED": "fail"}


def _text(encoded: bytes) -> str:
    return unquote_to_bytes(encoded).decode("utf-8", "backslashreplace")


_name = lru_cache(maxsize=4096)(_text)  # a log repeats few names: each is decoded once and kept once


def _typed(text: bytes) -> Value:
    # 18 digits at most, so that every number fits the 64 bits of an attribute; a longer one stays text.
    if text.isdigit() and len(text) <= 18:
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text) if b"." in text else int(text)
    return _text(text)


def _attributes(text: bytes) -> Mapping[str, Value]:
    pairs = [token.partition(b"=") for token in text.split()]
    return {_name(key): _typed(value) for key, _, value in pairs} if pairs else _NO_ATTRIBUTES


def _span(match: re.Match[bytes]) -> Span:
    pid, tid, inv, hid, depth, name, start, duration, attributes = match.groups()
    return Span(
        int(pid),
        int(tid),
        int(inv),
        _name(hid).lower(),
        int(depth),
        _name(name),
        int(start),
        int(duration),
        _attributes(attributes),
    )


def _bind_phase(match: re.Match[bytes]) -> BindPhase:
    name, start, duration, attributes = match.groups()
    return BindPhase(f"{BIND}.{_name(name)}", int(start), int(duration), _attributes(attributes))


def _clock_anchor(match: re.Match[bytes]) -> ClockAnchor:
    pid, mono, wall = match.groups()
    return ClockAnchor(int(pid), int(mono), int(wall))


def _drops(match: re.Match[bytes]) -> Drops:
    pid, total, reasons = match.groups()
    return Drops(int(pid), int(total), _attributes(reasons))


def _runtime_header(match: re.Match[bytes]) -> RuntimeHeader:
    runtime, level = match.groups()
    return RuntimeHeader(_text(runtime), int(level))


def _case_line(match: re.Match[bytes]) -> CaseLine:
    suite, name, outcome = match.groups()
    return CaseLine(_text(suite), _text(name), _OUTCOMES[outcome])


def _stamp(match: re.Match[bytes]) -> Stamp:
    return Stamp(match[1].decode("utf-8", "backslashreplace"))


def _autoload_line(match: re.Match[bytes]) -> AutoloadLine:
    return AutoloadLine(match[0].decode("utf-8", "backslashreplace"))


class _Form(NamedTuple):
    """One kind of record: the bytes that announce it, its grammar, and what it becomes.

    `accounted`: whatever is announced is a record, so that what does not fit the grammar is one that cannot be read.
    """

    announcement: bytes
    grammar: re.Pattern[bytes]
    record: Callable[[re.Match[bytes]], Record]
    accounted: bool


def _form(
    announcement: bytes, body: bytes, record: Callable[[re.Match[bytes]], Record], *, accounted: bool = False
) -> _Form:
    # <n>: a number whose double still fits 64 bits. <u>: any of 64 bits. <rest>: the attributes. The writer ends every
    # record with a space or a newline, so that a number which runs into the next record may lack digits.
    for name, pattern in (
        (b"<n>", rb"(\d{1,18})"),
        (b"<u>", rb"(\d{1,20})"),
        (b"<rest>", rb"(?=\s)([^\[\r\n]{0,4096})"),
    ):
        body = body.replace(name, pattern)
    return _Form(announcement, re.compile(re.escape(announcement) + body), record, accounted)


_FORMS = (
    _form(
        b"[STRACE] v=",
        rb"1 +pid=<n> +tid=<n> +inv=<u> +hid=([0-9a-fA-F]{1,16}) +depth=(\d{1,2})"
        rb" +name=([^\s\[]{1,512}) +ts=<n> +dur=<n><rest>",
        _span,
        accounted=True,
    ),
    _form(b"] bind phase=", rb"(\w{1,512}) +start_ns=<n> +dur_ns=<n><rest>", _bind_phase, accounted=True),
    _form(b"[CLOCK_ANCHOR] v=", rb"1 +pid=<n> +mono_ns=<n> +wall_ns=<u>(?=\s)", _clock_anchor, accounted=True),
    _form(b"[HOSTLOG_DROPS] v=", rb"1 +pid=<n> +new=\d+ +total=<n><rest>", _drops, accounted=True),
    # What the records around belong to, for a log that is all there is.
    _form(b"\n=== Runtime: ", rb"(\S+) +Level: (\d{1,3}) ===", _runtime_header),
    _form(b"\n  ", rb"([^\s:]+)::(\S+) (\.\.\.|PASSED|FAILED)", _case_line),
    _form(b"\n[stamp] ", rb"([^\r\n]+)", _stamp),
    _form(b"torch_backend_autoload ", rb"setting=[^\r\n]+", _autoload_line),
)
_OTHER_VERSION = re.compile(rb"(?!1 )\d+ ")


def read(file: BinaryIO) -> Iterator[Record]:
    """Every record of a log in its order; in constant memory, whatever the length of a line."""
    for block in _blocks(file):
        found = [(at, form) for form in _FORMS for at in _positions(block, form.announcement)]
        for at, form in sorted(found, key=itemgetter(0)):
            if match := form.grammar.match(block, at):
                yield form.record(match)
            elif form.accounted:
                foreign = _OTHER_VERSION.match(block, at + len(form.announcement))
                yield Unreadable("version" if foreign else "torn")


def _positions(block: bytes, announcement: bytes) -> Iterator[int]:
    at = block.find(announcement)
    while at >= 0:
        yield at
        at = block.find(announcement, at + len(announcement))


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """The file in pieces that end where a line does, each with the newline before it."""
    rest = b"\n"
    while piece := file.read(_BLOCK):
        block = rest + piece
        cut = block.rfind(b"\n")
        if cut > 0:
            yield block[: cut + 1]
        else:
            # No line ends in sight: what begins at the last bracket may go on in the next piece.
            cut = block.rfind(b"[", max(0, len(block) - _LONGEST_RECORD))
            cut = len(block) if cut < 0 else cut
            yield block[:cut]
        rest = block[cut:]
    yield rest
