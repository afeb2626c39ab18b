"""Damaged journals: no traceback, no span that is not in the file, and a count of what was skipped.

The tests try a thousand of them, `make fuzz` a hundred thousand.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

from opentelemetry.instrumentation.scenetest.cli import main
from opentelemetry.instrumentation.scenetest.rundir import reader
from opentelemetry.instrumentation.scenetest.rundir.span import Span

JOURNALS = [path.read_bytes() for path in sorted((Path(__file__).parents[2] / "data" / "journals").glob("*.jsonl"))]
TRIES = int(os.environ.get("FUZZ_TRIES", "1000"))
SEED = int(os.environ.get("FUZZ_SEED", "12"))
SHOWN_EVERY = 20
NAME = "4242-0badcafe.jsonl"

Damage = Callable[[bytes, random.Random], bytes]


def two_places(length: int, chance: random.Random) -> tuple[int, int]:
    first, second = sorted(chance.randrange(length + 1) for _ in range(2))
    return first, second


def cut(data: bytes, chance: random.Random) -> bytes:
    start, end = two_places(len(data), chance)
    return data[:end] if chance.random() < 0.5 else data[:start] + data[end:]


def splice(data: bytes, chance: random.Random) -> bytes:
    other = chance.choice(JOURNALS)
    start, end = two_places(len(other), chance)
    at = chance.randrange(len(data) + 1)
    return data[:at] + other[start:end] + data[at:]


def splice_of_another_process(data: bytes, chance: random.Random) -> bytes:
    return splice(data, chance) + chance.choice(JOURNALS).replace(b'"pid":4242', b'"pid":77')


def duplicate(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    for _ in range(chance.randrange(1, 6) if lines else 0):
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
    return b"".join(lines)


def reorder(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    chance.shuffle(lines)
    return b"".join(lines)


def blank(data: bytes, chance: random.Random) -> bytes:
    start, end = two_places(len(data), chance)
    return data[:start] + b"\0" * (end - start) + data[end:]


def flip(data: bytes, chance: random.Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(chance.randrange(1, 9) if data else 0):
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def retype(data: bytes, chance: random.Random) -> bytes:
    """Put something else into a field, as a journal of somebody else's program may have."""
    lines = data.splitlines()
    place = chance.randrange(len(lines)) if lines else 0
    try:
        line = json.loads(lines[place])
        line[chance.choice(list(line))] = chance.choice([None, [], {}, "x", -1, 1.5, True, 10**30, {"a": []}, ["a"]])
        lines[place] = json.dumps(line).encode()
    except (ValueError, IndexError, TypeError):
        return data
    return b"\n".join(lines) + b"\n"


DAMAGES: list[Damage] = [cut, splice, splice_of_another_process, duplicate, reorder, blank, flip, retype]


def intact_lines(data: bytes) -> list[dict[str, Any]]:
    """Every line that is a JSON object, whatever it says."""
    found: list[dict[str, Any]] = []
    for raw in data.splitlines(keepends=True):
        try:
            line: object = json.loads(raw) if raw.endswith(b"\n") else None
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict):
            found.append(cast("dict[str, Any]", line))
    return found


def read(path: Path) -> tuple[list[Span], reader.ProcessRecord]:
    journal = reader.Journal(path)
    spans = list(journal.spans())
    for span in spans:
        _ = span.ruler, span.changed, span.sets, span.duration_ns
    return spans, journal.process


def check(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    try:
        spans, process = read(path)
    except (reader.NotAJournalError, reader.NewerSchemaError):
        return
    lines = intact_lines(data)
    opened = {repr((line.get("id"), line.get("span"))) for line in lines if line.get("kind") == "open"}
    closed = {
        repr((line.get("id"), line.get("start"), line.get("end"), line.get("outcome")))
        for line in lines
        if line.get("kind") == "close"
    }
    made_up = [one for one in spans if repr((one.span_id, one.kind)) not in opened]
    # The span of a process that recorded no other one is made from its `process` line.
    assert [one.kind for one in made_up] in ([], ["process"])
    assert not made_up or len(spans) == 1
    for one in spans:
        if one.end_ns is not None and one.kind != "process":
            assert repr((one.span_id, one.start_ns, one.end_ns, one.outcome)) in closed
            assert one.end_ns >= one.start_ns
    assert len({one.span_id for one in spans}) == len(spans)
    skipped = process.torn_lines + process.repeated_lines + process.foreign_lines
    assert skipped >= sum(1 for raw in data.splitlines(keepends=True) if raw.strip()) - len(lines)


def test_a_damaged_journal_is_read_as_far_as_it_can_be(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    path = tmp_path / NAME
    for number in range(TRIES):
        data = chance.choice(JOURNALS)
        for _ in range(chance.randrange(1, 4)):
            data = chance.choice(DAMAGES)(data, chance)
        try:
            check(data, path)
            if number % SHOWN_EVERY == 0:
                done = CliRunner().invoke(main, ["show", str(tmp_path), "--json"])
                assert done.exit_code in (0, 2), done.output
                assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        except Exception as error:
            kept = tmp_path / "failing"
            kept.write_bytes(data)
            pytest.fail(f"try {number} of seed {SEED}, kept in {kept}: {type(error).__name__}: {error}")
    print(f"{TRIES} damaged journals were read")


def lines_of_the_newest() -> list[bytes]:
    return JOURNALS[-1].splitlines(keepends=True)


def outcomes(data: bytes, folder: Path) -> tuple[list[tuple[str, str]], reader.ProcessRecord]:
    path = folder / NAME
    path.write_bytes(data)
    spans, process = read(path)
    return [(one.span_id, one.outcome) for one in spans], process


@pytest.mark.parametrize("kind", ["open", "close", "conditions", "process"])
def test_a_line_that_comes_once_more_changes_nothing_and_is_counted(kind: str, tmp_path: Path) -> None:
    lines = lines_of_the_newest()
    repeated = next(line for line in lines if line.startswith(f'{{"kind":"{kind}"'.encode()))
    expected, _ = outcomes(JOURNALS[-1], tmp_path)
    found, process = outcomes(b"".join([*lines[:-1], repeated, lines[-1]]), tmp_path)
    assert found == expected
    assert (process.repeated_lines, process.torn_lines, process.foreign_lines) == (1, 0, 0)


def test_a_journal_that_is_there_twice_is_read_once(tmp_path: Path) -> None:
    expected, _ = outcomes(JOURNALS[-1], tmp_path)
    found, process = outcomes(JOURNALS[-1] * 2, tmp_path)
    assert found == expected
    assert process.repeated_lines > 0


def test_nothing_is_taken_from_another_process(tmp_path: Path) -> None:
    other = JOURNALS[0].replace(b'"pid":4242', b'"pid":77')
    expected, _ = outcomes(JOURNALS[-1], tmp_path)
    found, process = outcomes(JOURNALS[-1] + other, tmp_path)
    assert found == expected
    assert process.foreign_lines == other.count(b"\n")
