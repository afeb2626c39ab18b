"""Every kind of line that the harness writes about a run: how it begins, its grammar, and the record that it becomes.

This is the only list of the harness's markers. `native/strace.py` reads logs by it. The measured process asks it which
captured output to keep. So it imports only the standard library, and compiles no pattern.

The harness's C++ runtime writes one line per span when the span ends, so children come before their parents:

    [STRACE] v=1 pid= tid= inv= hid=<hex> depth= name=<dotted> ts=<ns> dur=<ns> [k=v ...]
    [CLOCK_ANCHOR] v=1 pid= mono_ns= wall_ns=
    [HOSTLOG_DROPS] v=1 pid= new= total= [reason=n ...]
    [<file>] bind phase=<word> start_ns= dur_ns= [k=v ...]          (older harnesses; newer ones write these as spans)

The writer percent-encodes names and values, and ends a value that it cut with `~`. We keep that `~`. A record never
contains `[`, because the writer encodes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote_to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

Value: TypeAlias = "int | float | str"

BIND = "chip.run.bind"

_NO_ATTRIBUTES: Mapping[str, Value] = {}


class NativeSpan(NamedTuple):
    """One `[STRACE]` record.

    A pass is one run of the native runtime: all records with the same `(pid, inv)`.

    Attributes:
        start_ns: `CLOCK_MONOTONIC`. Where `on_device` is true: an offset on the device's own clock, which can be
            compared with other device spans of the same pass only.
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
        """Tell whether `start_ns` is an offset on the device's clock."""
        return self.attributes.get("clk") == "dev"


class BindPhase(NamedTuple):
    """One `bind phase=` line, with the name that newer harnesses give it as a span. It does not say which process."""

    name: str
    start_ns: int
    duration_ns: int
    attributes: Mapping[str, Value]


class ClockAnchor(NamedTuple):
    """`CLOCK_MONOTONIC` and the wall clock of one process at the same moment."""

    pid: int
    mono_ns: int
    wall_ns: int


class Drops(NamedTuple):
    """How many records the writer of one process has lost so far, and why."""

    pid: int
    total: int
    reasons: Mapping[str, Value]


class Unreadable(NamedTuple):
    """A line that begins like a record and can't be read. The reason is `torn` or `version` (of another format)."""

    reason: str


class RuntimeHeader(NamedTuple):
    """The line before a group of cases: `=== Runtime: <runtime>  Level: <n> ===`."""

    runtime: str
    level: int


class CaseLine(NamedTuple):
    """A case begins (`outcome` is None) or ends (`pass` or `fail`)."""

    suite: str
    name: str
    outcome: str | None


class Stamp(NamedTuple):
    """The `[stamp]` line of the harness's measuring recipe: revision, environment and command."""

    text: str


class AutoloadLine(NamedTuple):
    """The `torch_backend_autoload` line, from its first word."""

    text: str


Record: TypeAlias = (
    "NativeSpan | BindPhase | ClockAnchor | Drops | Unreadable | RuntimeHeader | CaseLine | Stamp | AutoloadLine"
)

_OUTCOMES: dict[bytes, str | None] = {b"...": None, b"PASSED": "pass", b"FAILED": "fail"}


def _text(encoded: bytes) -> str:
    return unquote_to_bytes(encoded).decode("utf-8", "backslashreplace")


_name = lru_cache(maxsize=4096)(_text)  # a log repeats few names: decode each once


def _typed(text: bytes) -> Value:
    # At most 18 digits before or after the point: such a number fits the 64 bits of an attribute.
    if text.isdigit() and len(text) <= 18:
        return int(text)
    unsigned = text.removeprefix(b"-")
    whole, point, fraction = unsigned.partition(b".")
    if not all(part.isdigit() and len(part) <= 18 for part in ((whole, fraction) if point else (whole,))):
        return _text(text)
    return float(text) if point else int(text)


def _attributes(text: bytes) -> Mapping[str, Value]:
    pairs = [token.partition(b"=") for token in text.split()]
    return {_name(key): _typed(value) for key, _, value in pairs} if pairs else _NO_ATTRIBUTES


def _span(match: re.Match[bytes]) -> NativeSpan:
    pid, tid, inv, hid, depth, name, start, duration, attributes = match.groups()
    return NativeSpan(
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


class Marker(NamedTuple):
    """One kind of record.

    Attributes:
        announcement: the bytes that it begins with.
        grammar: the rest of it, as a regular expression. `<n>` is a number of at most 18 digits, `<u>` any unsigned
            64-bit number, `<rest>` the attributes up to the end of the line.
        record: makes the record of a match.
        is_native: the native runtime wrote it. If it does not fit the grammar, it counts as unreadable.
        is_timing: it carries timings or their loss. Captured output that holds one is worth keeping.
    """

    announcement: bytes
    grammar: bytes
    record: Callable[[re.Match[bytes]], Record]
    is_native: bool = False
    is_timing: bool = False


MARKERS = (
    Marker(
        b"[STRACE] v=",
        rb"1 +pid=<n> +tid=<n> +inv=<u> +hid=([0-9a-fA-F]{1,16}) +depth=(\d{1,2})"
        rb" +name=([^\s\[]{1,512}) +ts=<n> +dur=<n><rest>",
        _span,
        is_native=True,
        is_timing=True,
    ),
    Marker(
        b"] bind phase=",
        rb"(\w{1,512}) +start_ns=<n> +dur_ns=<n><rest>",
        _bind_phase,
        is_native=True,
        is_timing=True,
    ),
    Marker(b"[CLOCK_ANCHOR] v=", rb"1 +pid=<n> +mono_ns=<n> +wall_ns=<u>(?=\s)", _clock_anchor, is_native=True),
    Marker(b"[HOSTLOG_DROPS] v=", rb"1 +pid=<n> +new=\d+ +total=<n><rest>", _drops, is_native=True, is_timing=True),
    # What the records around belong to. Needed where a log is all there is of a run.
    Marker(b"\n=== Runtime: ", rb"(\S+) +Level: (\d{1,3}) ===", _runtime_header),
    Marker(b"\n  ", rb"([^\s:]+)::(\S+) (\.\.\.|PASSED|FAILED)", _case_line),
    Marker(b"\n[stamp] ", rb"([^\r\n]+)", _stamp),
    Marker(b"torch_backend_autoload ", rb"setting=[^\r\n]+", _autoload_line),
)

_TIMINGS = tuple(marker.announcement.decode("ascii") for marker in MARKERS if marker.is_timing)


def has_timings(text: str) -> bool:
    """Tell whether output of the harness holds native timings."""
    return any(announcement in text for announcement in _TIMINGS)
