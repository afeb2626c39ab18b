"""The grammar of the native timing markers."""

import io
import subprocess
import tracemalloc
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.markers import LOGS, bind_phase, strace

from opentelemetry.instrumentation.scenetest.native.markers import (
    AutoloadLine,
    BindPhase,
    CaseLine,
    ClockAnchor,
    Drops,
    NativeSpan,
    Record,
    RuntimeHeader,
    Stamp,
    Unreadable,
    has_timings,
)
from opentelemetry.instrumentation.scenetest.native.strace import read

REAL_LOGS = sorted(LOGS.glob("*.log"))

# Per name: sum, minimum and median of the durations, and nothing of ours in between.
AWK = r"""tr '[' '\n' < "$1" | awk '
    /^STRACE\] v=1 / { for (i = 1; i <= NF; i++) { split($i, f, "="); v[f[1]] = f[2] } print v["name"], v["dur"] }
    / bind phase=/   { for (i = 1; i <= NF; i++) { split($i, f, "="); v[f[1]] = f[2] }
                       print "chip.run.bind." v["phase"], v["dur_ns"] }' | sort -k1,1 -k2,2n | awk '
    function show() { if (n) print name, sum, d[1], n % 2 ? d[(n + 1) / 2] : (d[n / 2] + d[n / 2 + 1]) / 2 }
    $1 != name { show(); name = $1; n = sum = 0 } { d[++n] = $2; sum += $2 } END { show() }' OFMT=%.1f CONVFMT=%.1f"""


def records(text: str | bytes) -> list[Record]:
    return list(read(io.BytesIO(text.encode() if isinstance(text, str) else text)))


def only(text: str | bytes) -> Record:
    (record,) = records(text)
    return record


@pytest.mark.parametrize("log", REAL_LOGS, ids=lambda log: log.stem)
def test_sum_minimum_and_median_per_name_equal_those_that_awk_counts(log: Path) -> None:
    awk = subprocess.run(["sh", "-c", AWK, "sh", str(log)], check=True, capture_output=True, text=True)
    counted = {name: tuple(map(float, numbers)) for name, *numbers in map(str.split, awk.stdout.splitlines())}
    durations: dict[str, list[int]] = defaultdict(list)
    with log.open("rb") as file:
        for record in read(file):
            if isinstance(record, NativeSpan | BindPhase):
                durations[record.name].append(record.duration_ns)
    assert {name: (sum(each), min(each), median(each)) for name, each in durations.items()} == counted


@pytest.mark.parametrize("log", REAL_LOGS, ids=lambda log: log.stem)
def test_every_marker_of_a_real_log_is_read(log: Path) -> None:
    found = records(log.read_bytes())
    assert len([record for record in found if isinstance(record, NativeSpan)]) == log.read_bytes().count(b"[STRACE]")
    assert not [record for record in found if isinstance(record, Unreadable)]


def test_a_span_keeps_its_fields_and_its_attributes_with_their_types() -> None:
    line = strace("node.submit", 5, 7, pid=2, tid=3, inv=4, depth=1, rest="run_id=9 group=-1 ratio=0.5 role=facade")
    assert only(line) == NativeSpan(
        2, 3, 4, "0", 1, "node.submit", 5, 7, {"run_id": 9, "group": -1, "ratio": 0.5, "role": "facade"}
    )


def test_a_device_span_is_told_by_its_clock() -> None:
    span = only(strace("chip.run.runner_run.device_wall", 0, 7, rest="clk=dev"))
    assert isinstance(span, NativeSpan)
    assert span.on_device


def test_a_bind_phase_has_the_name_of_the_span_that_replaced_it() -> None:
    line = bind_phase("arena_h2d", 5, 7, "nt=4 args=48/10/16")
    assert only(line) == BindPhase("chip.run.bind.arena_h2d", 5, 7, {"nt": 4, "args": "48/10/16"})


def test_the_clock_anchor_pairs_both_clocks() -> None:
    line = "[CLOCK_ANCHOR] v=1 pid=13227 mono_ns=739867918068 wall_ns=1796040228798315710\n"
    assert only(line) == ClockAnchor(13227, 739867918068, 1796040228798315710)


def test_what_the_writer_lost_is_read_with_its_reasons() -> None:
    line = (
        "[mono_ns=1][T0xa][ERROR] host_log_drops: [HOSTLOG_DROPS] v=1 pid=5 new=2 total=3"
        " queue_full=1 claim_exhausted=0 output_failed=2 not_admitted=0\n"
    )
    reasons = {"queue_full": 1, "claim_exhausted": 0, "output_failed": 2, "not_admitted": 0}
    assert only(line) == Drops(5, 3, reasons)


def test_two_records_on_one_physical_line_are_two_records() -> None:
    line = strace("chip.run", 1, 2, pid=1, rest="role=worker").rstrip("\n") + strace("chip.run", 1, 3, pid=2)
    assert [(record.pid, record.attributes) for record in records(line) if isinstance(record, NativeSpan)] == [
        (1, {"role": "worker"}),
        (2, {}),
    ]


def test_a_record_without_the_log_prefix_is_read() -> None:
    assert isinstance(only("[STRACE] v=1 pid=1 tid=1 inv=1 hid=a depth=0 name=chip.run ts=1 dur=2\n"), NativeSpan)


def test_a_record_torn_anywhere_by_another_is_counted_and_the_other_is_read() -> None:
    whole = strace("chip.run", 1000, 200)
    record = whole[whole.index("[STRACE]") :].rstrip()
    for length in range(len("[STRACE] v="), len(record) + 1):
        assert records(record[:length] + whole) == [Unreadable("torn"), *records(whole)]


def test_a_last_record_without_its_end_is_torn() -> None:
    assert only(strace("chip.run", 1, 234).rstrip()) == Unreadable("torn")


def test_a_record_of_another_version_is_not_taken_for_one_that_is_understood() -> None:
    assert only(strace("chip.run", 1, 2).replace("v=1", "v=2")) == Unreadable("version")


def test_encoded_names_and_values_are_decoded_and_a_cut_one_keeps_its_mark() -> None:
    span = only(strace("ext.my%20tool.l%C3%A4uft", 1, 2, rest="path=a%3Db%5B0%5D cut=abc~ number=12~"))
    assert isinstance(span, NativeSpan)
    assert span.name == "ext.my tool.läuft"
    assert span.attributes == {"path": "a=b[0]", "cut": "abc~", "number": "12~"}


def test_a_number_that_no_attribute_can_hold_stays_text() -> None:
    span = only(strace("ext.a.b", 1, 2, rest=f"big={2**64} word"))
    assert isinstance(span, NativeSpan)
    assert span.attributes == {"big": str(2**64), "word": ""}


def test_bytes_that_are_not_utf_8_do_not_become_surrogates() -> None:
    span = only(strace("ext.a.%FF", 1, 2))
    assert isinstance(span, NativeSpan)
    assert span.name == r"ext.a.\xff"


def test_the_lines_around_the_records_say_what_they_belong_to() -> None:
    text = """[stamp] 6ebaf77 env TORCH_DEVICE_BACKEND_AUTOLOAD=0 python test_x.py -p a2a3sim
=== Runtime: host_build_graph  Level: 2 ===
[mono_ns=1][T0x1][TIMING] torch_backend_autoload setting=0 effective=disabled torch_imported=true torch_npu_loaded=false
  TestVector::default ...
  TestVector::default PASSED
  TestOther::big::odd FAILED: 3 elements differ
"""
    assert records(text) == [
        Stamp("6ebaf77 env TORCH_DEVICE_BACKEND_AUTOLOAD=0 python test_x.py -p a2a3sim"),
        RuntimeHeader("host_build_graph", 2),
        AutoloadLine("torch_backend_autoload setting=0 effective=disabled torch_imported=true torch_npu_loaded=false"),
        CaseLine("TestVector", "default", None),
        CaseLine("TestVector", "default", "pass"),
        CaseLine("TestOther", "big::odd", "fail"),
    ]


@pytest.mark.parametrize("padding", [2**18 - 200, 2**18 - 20, 2**18, 2**20])
def test_a_record_is_whole_wherever_the_blocks_of_the_file_end(padding: int) -> None:
    text = "x" * padding + strace("chip.run", 1, 2) + "y" * padding + bind_phase("args", 3, 4)
    assert [type(record) for record in records(text)] == [NativeSpan, BindPhase]


def test_a_line_without_end_is_read_in_constant_memory() -> None:
    class Endless(io.RawIOBase):
        left = 64 * 2**20

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            size = min(len(buffer), self.left)
            buffer[:size] = b"[" * size
            self.left -= size
            return size

    tracemalloc.start()
    assert list(read(io.BufferedReader(Endless()))) == []
    assert tracemalloc.get_traced_memory()[1] < 4 * 2**20
    tracemalloc.stop()


FRAGMENTS = [
    *(line for log in REAL_LOGS for line in log.read_bytes().splitlines(keepends=True)[:40]),
    b"[STRACE] v=1 ",
    b"[STRACE] v=",
    b"] bind phase=",
    b"\n",
    b"%",
    b"\x00\xff",
]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.binary(max_size=40)), max_size=30), st.data())
def test_whatever_the_bytes_every_announced_record_is_accounted_for(parts: list[bytes], data: st.DataObject) -> None:
    text = b"".join(parts)
    if text:
        start, end = sorted(data.draw(st.integers(0, len(text))) for _ in range(2))
        text = text[:start] + text[end:]
    found = records(text)
    announced = sum(
        text.count(head) for head in (b"[STRACE] v=", b"] bind phase=", b"[CLOCK_ANCHOR] v=", b"[HOSTLOG_DROPS] v=")
    )
    assert (
        sum(isinstance(record, NativeSpan | BindPhase | ClockAnchor | Drops | Unreadable) for record in found)
        == announced
    )


@pytest.mark.parametrize("log", REAL_LOGS, ids=lambda path: path.name)
def test_every_line_with_a_timing_is_worth_keeping(log: Path) -> None:
    lines = log.read_text("utf-8").splitlines(keepends=True)
    kept = [
        line for line in lines if any(isinstance(record, NativeSpan | BindPhase | Drops) for record in records(line))
    ]
    assert kept
    assert kept == [line for line in lines if has_timings(line)]


def test_output_without_a_timing_is_not_kept() -> None:
    assert not has_timings("[CLOCK_ANCHOR] v=1 pid=1 mono_ns=1 wall_ns=1\n  Suite::case ... \nbind phase\n")
    assert has_timings("[HOSTLOG_DROPS] v=1 pid=1 new=1 total=1\n")
