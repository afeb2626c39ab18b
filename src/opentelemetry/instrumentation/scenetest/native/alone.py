"""Makes journals from a log, for a run that has nothing else. What the log does not say is `not recorded`.

A harness log names its runtime, its level and its cases. It says what torch's autoload did. Its `[stamp]` line holds
revision, environment and command. Its markers tell when the native runtime was busy, but not how long the harness
waited for it. So the dispatches that are made here are marked, and no statistic uses their durations.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opentelemetry.instrumentation.scenetest.conditions import logline
from opentelemetry.instrumentation.scenetest.conditions.harness import VARIABLES, raw_attribute
from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS, RULER
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, UNKNOWN, Value
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.native.markers import (
    AutoloadLine,
    CaseLine,
    ClockAnchor,
    NativeSpan,
    Record,
    RuntimeHeader,
    Stamp,
)
from opentelemetry.instrumentation.scenetest.native.strace import read
from opentelemetry.instrumentation.scenetest.rundir import layout, logs
from opentelemetry.instrumentation.scenetest.rundir.span import NOT_WAITED_FOR

DERIVED = "scenetest.derived"
"""Attribute of a dispatch that was not recorded: what it was derived from."""

_NODES = ("node.", "network1.", "network2.", "network3.")  # written by the process that dispatches, from level 3 on
_CHIP = ("chip.run",)
_NO_ANCHOR = ClockAnchor(0, 0, 0)


@dataclass
class _Run:
    """One run of the native runtime in a process that dispatches. It becomes a dispatch."""

    start_ns: int
    end_ns: int


@dataclass
class LoggedCase:
    """A case of a log, with its native runs by pid and `inv`."""

    suite: str
    name: str
    header: RuntimeHeader | None
    outcome: str | None = None
    runs: dict[tuple[int, int], _Run] = field(default_factory=dict[tuple[int, int], _Run])


@dataclass
class Told:
    """What the logs of a run tell.

    Attributes:
        cases: the cases with their native runs. Runs outside any case are in a case that is named like the log.
        anchor: the first clock anchor. All zero if there is none.
        autoload: the fields of every autoload line.
        stamp: the text of the `[stamp]` line. Empty if there is none.
    """

    cases: list[LoggedCase] = field(default_factory=list[LoggedCase])
    anchor: ClockAnchor = _NO_ANCHOR
    autoload: list[dict[str, str | bool | None]] = field(default_factory=list[dict[str, str | bool | None]])
    stamp: str = ""

    @property
    def command(self) -> list[str]:
        """The command of the `[stamp]` line."""
        return _words(self.stamp)[1:]

    @property
    def started_unix_ns(self) -> int | None:
        """Unix nanoseconds of the clock anchor."""
        return self.anchor.wall_ns or None


def listen(paths: Sequence[Path]) -> Told:
    """Read what logs say about a run.

    Raises:
        BadInputError: they hold no run of the native runtime and no line about torch's autoload.
        OSError: a log can't be read.
    """
    leads = _leaders(record for path in paths for record in _read(path))
    told = Told()
    for path in paths:
        _listen(path, leads, told)
    told.cases = list(_apart(told.cases))
    if not told.cases and not told.autoload:
        raise BadInputError(
            f"{' '.join(map(str, paths))}: no native timing markers and no line on torch's autoload, "
            "so no run can be made of that"
        )
    return told


def journals(told: Told, seed: str) -> Iterator[tuple[str, str]]:
    """Yield the file name and text of a journal for each process that dispatched.

    If no process dispatched, there is one journal, for the autoload line.

    Args:
        told: what the logs of the run say.
        seed: the ids are derived from it. With the same seed, more logs do not change the ids of earlier spans.
    """
    for pid in sorted({pid for case in told.cases for pid, _ in case.runs}) or [told.anchor.pid]:
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in _lines(pid, told, f"{seed} {pid}"))
        yield f"{pid}-{_id(f'{seed} {pid}', 4)}{layout.JOURNAL_SUFFIX}", text


def _read(log: Path) -> Iterator[Record]:
    with log.open("rb") as file:
        yield from read(file)


def _apart(cases: Iterable[LoggedCase]) -> Iterator[LoggedCase]:
    """Yield the cases that have runs. A run that several logs hold is kept once, in a case with a name if possible."""
    claimed: set[tuple[int, int]] = set()
    for case in sorted(cases, key=lambda case: not case.suite):
        case.runs = {key: run for key, run in case.runs.items() if key not in claimed}
        claimed |= case.runs.keys()
        if case.runs:
            yield case


def _listen(log: Path, leads: Mapping[int, tuple[str, ...]], told: Told) -> None:
    case = outside = LoggedCase("", logs.name_of(log), None)
    header: RuntimeHeader | None = None
    for record in _read(log):
        match record:
            case RuntimeHeader():
                header = record
            case CaseLine(suite, name, None):
                case = LoggedCase(suite, name, header)
                told.cases.append(case)
            case CaseLine(suite, name, outcome):
                if (suite, name) == (case.suite, case.name):
                    case.outcome = outcome
                case = outside
            case NativeSpan() if not record.on_device and record.name.startswith(leads.get(record.pid, ())):
                _extend(case, record)
            case ClockAnchor() if not told.anchor.pid:
                told.anchor = record
            case AutoloadLine(text) if fields := logline.parse_log_line(text):
                told.autoload.append(fields)
            case Stamp():
                told.stamp = record.text
            case _:
                pass
    told.cases.append(outside)


def _leaders(records: Iterable[Record]) -> Mapping[int, tuple[str, ...]]:
    """Return the prefixes of the spans of a dispatch for each process that dispatches. At level 2 it runs the chip."""
    nodes: dict[int, tuple[str, ...]] = {}
    chips: dict[int, tuple[str, ...]] = {}
    for record in records:
        if isinstance(record, NativeSpan) and not record.on_device:
            if record.name.startswith(_NODES):
                nodes[record.pid] = _NODES
            elif record.name.startswith(_CHIP):
                chips[record.pid] = _CHIP
    return nodes or chips


def _extend(case: LoggedCase, span: NativeSpan) -> None:
    end_ns = span.start_ns + span.duration_ns
    run = case.runs.setdefault((span.pid, span.inv), _Run(span.start_ns, end_ns))
    run.start_ns, run.end_ns = min(run.start_ns, span.start_ns), max(run.end_ns, end_ns)


def _lines(pid: int, told: Told, seed: str) -> Iterator[dict[str, object]]:
    anchor = {"monotonic_ns": told.anchor.mono_ns, "unix_ns": told.anchor.wall_ns}
    process: dict[str, object] = {"pid": pid, "anchor": anchor, "command": told.command}
    yield {"kind": "process", "schema": layout.SCHEMA, **process, "conditions": _process_conditions(told)}
    known: Counter[str] = Counter()
    for case in told.cases:
        name = f"{case.suite}::{case.name}"
        known[name] += 1
        runs = sorted((run for (of, _), run in case.runs.items() if of == pid), key=lambda run: run.start_ns)
        if runs:
            yield from _case_lines(case, runs, told, f"{seed} {name} {known[name]}")
    if all(case.outcome for case in told.cases if case.suite):
        yield {"kind": "end", "at": 0}


def _case_lines(case: LoggedCase, runs: list[_Run], told: Told, seed: str) -> Iterator[dict[str, object]]:
    trace, case_id = _id(f"{seed} trace", 16), _id(f"{seed} case", 8)
    start_ns, end_ns = runs[0].start_ns, max(run.end_ns for run in runs)
    names = {"suite": case.suite, "name": case.name, "attributes": _case_conditions(case, told)}
    yield {"kind": "open", "span": "case", "id": case_id, "trace": trace, "at": start_ns, **names}
    derived = {NOT_WAITED_FOR: True, DERIVED: "native markers"}
    for number, run in enumerate(runs):
        one = {"id": _id(f"{seed} {number}", 8)}
        where = {"trace": trace, "parent": case_id, "at": run.start_ns, "round": number, "attributes": derived}
        yield {"kind": "open", "span": "dispatch", **one, **where}
        yield {"kind": "close", **one, "start": run.start_ns, "end": run.end_ns, "outcome": "pass"}
    if case.outcome or not case.suite:
        ended = {"start": start_ns, "end": end_ns, "outcome": case.outcome or UNKNOWN}
        yield {"kind": "close", "id": case_id, **ended}


def _process_conditions(told: Told) -> dict[str, Value]:
    known = _of_autoload(told.autoload) | _of_stamp(told.stamp)
    missing = {key: NOT_RECORDED for key in RULER if CONDITIONS[key].scope == "process" and key not in known}
    return {**missing, **known}


def _case_conditions(case: LoggedCase, told: Told) -> dict[str, Value]:
    known: dict[str, Value] = {}
    if case.header:
        known |= {"scenetest.runtime": case.header.runtime, "scenetest.level": case.header.level}
    words = _words(told.stamp)
    for option in ("-p", "--platform"):
        if option in words[:-1]:
            known["scenetest.platform"] = words[words.index(option) + 1]
    if "--skip-golden" in words:
        known["scenetest.golden_skipped"] = True
    missing = {key: NOT_RECORDED for key in RULER if CONDITIONS[key].scope == "case" and key not in known}
    return {**missing, **known}


def _of_autoload(lines: list[dict[str, str | bool | None]]) -> dict[str, Value]:
    """What the one line of a process says. Lines of several processes name none, so that only what all say is known."""
    if not lines:
        return {}
    said = [_conditions_of(line) for line in lines]
    return {key: value if all(one.get(key) == value for one in said) else UNKNOWN for key, value in said[0].items()}


def _conditions_of(line: Mapping[str, str | bool | None]) -> dict[str, Value]:
    setting, raw = line.get("setting"), line.get("raw")
    known: dict[str, Value] = {
        "torch.backend_autoload.effective": line.get("effective") or UNKNOWN,
        "torch.imported": line.get("torch_imported") is True,
        "torch_npu.loaded": line.get("torch_npu_loaded") is True,
    }
    if isinstance(raw, str):
        known["torch.backend_autoload.setting"] = logline.spell(raw)
    elif setting in ("0", "1", logline.UNSET):
        known["torch.backend_autoload.setting"] = str(setting)
    if not known["torch.imported"]:
        known["torch.backend_autoload.outcome"] = "torch_not_imported"
    elif known["torch.backend_autoload.effective"] == "disabled":
        known["torch.backend_autoload.outcome"] = "disabled"
    return known


def _of_stamp(stamp: str) -> dict[str, Value]:
    words = _words(stamp)
    known: dict[str, Value] = {"vcs.ref.head.revision": words[0]} if words else {}
    environment = {key: value for key, equals, value in (word.partition("=") for word in words[1:]) if equals}
    for variable in VARIABLES:
        raw = environment.get(variable.name)
        if raw is not None:
            known[raw_attribute(variable.name)] = raw
            effective = variable.parse(raw)
            known |= {} if effective is None else {variable.attribute: effective}
    return known


def _words(stamp: str) -> list[str]:
    try:
        return shlex.split(stamp)
    except ValueError:
        return stamp.split()


def _id(seed: str, size: int) -> str:
    return hashlib.blake2b(seed.encode(), digest_size=size).hexdigest()
