"""Writes stores with runs of given times, line by line as the recorder does, without running a program."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from opentelemetry.instrumentation.scenetest.conditions.values import Value
from opentelemetry.instrumentation.scenetest.rundir import layout, lines
from opentelemetry.instrumentation.scenetest.rundir.writer import Writer

SECOND = 10**9
EPOCH_NS = 1_700_000_000 * SECOND
"""Unix time at the boot of the machine, in nanoseconds."""

CLEAN: dict[str, Value] = {
    "torch.backend_autoload.effective": "disabled",
    "torch.backend_autoload.setting": "0",
    "torch_npu.loaded": False,
    "scenetest.stderr": "file",
}
CONTAMINATED: dict[str, Value] = {
    **CLEAN,
    "torch.backend_autoload.effective": "enabled",
    "torch.backend_autoload.setting": "unset",
    "torch_npu.loaded": True,
    "torch_npu.loaded_by": "autoload",
}
HARNESS_CASE: dict[str, Value] = {
    "scenetest.platform": "a2a3sim",
    "scenetest.runtime": "host_build_graph",
    "scenetest.level": 2,
}
GAP_NS = SECOND // 10
"""Nanoseconds from the start of one dispatch to the start of the next."""

_ids = count(1)


@dataclass(frozen=True)
class Dispatch:
    """A dispatch with a duration in nanoseconds, and `inner` dispatches. Without `ended`, it never returned."""

    ns: int
    outcome: str = "pass"
    ended: bool = True
    attributes: Mapping[str, Value] = field(default_factory=dict[str, Value])
    inner: Sequence[Dispatch] = ()
    conditions_after: Mapping[str, Value] | None = None


@dataclass(frozen=True)
class Case:
    """A case with its dispatches. Without an outcome, it never ended."""

    suite: str
    name: str
    dispatches: Sequence[Dispatch]
    attributes: Mapping[str, Value] = field(default_factory=dict[str, Value])
    outcome: str | None = "pass"
    pressure: float | None = None


@dataclass(frozen=True)
class Process:
    """A process: its cases one after the other, then its dispatches outside any case.

    Attributes:
        conditions: its conditions.
        pid: its process id; `parent` is that of its parent.
        script: the name of its script.
        clean: whether it wrote that it ended.
        boot: the boot id of its machine; empty if that was not recorded.
        after: seconds from the start of the run to its start.
        clock_ns: error of its wall clock, in nanoseconds.
    """

    cases: Sequence[Case] = ()
    outside: Sequence[Dispatch] = ()
    conditions: Mapping[str, Value] = field(default_factory=lambda: dict(CLEAN))
    pid: int = 1000
    parent: int = 1
    script: str = "bench.py"
    clean: bool = True
    boot: str = "boot-1"
    after: float = 0.0
    clock_ns: int = 0


def write(
    store: Path,
    name: str,
    processes: Sequence[Process],
    *,
    at: float,
    exit_code: int | None = 0,
) -> Path:
    """Write a run.

    Args:
        store: the directory of runs.
        name: name of the run and of its directory.
        processes: the measured processes.
        at: its start, in seconds after the boot of the machine.
        exit_code: exit code of its command; None if it is unknown.
    """
    directory = store / name
    directory.mkdir(parents=True)
    begun = round(at * SECOND)
    facts = {"schema": layout.SCHEMA, "id": f"{next(_ids):032x}", "name": name, "by": "run", "command": ["bench.py"]}
    started = {"started_unix_ns": EPOCH_NS + begun, "exit_code": exit_code}
    (directory / layout.RUN_FILE).write_text(json.dumps({**facts, **started}))
    for process in processes:
        writer = Writer(str(directory))
        for line in _lines(process, begun + round(process.after * SECOND)):
            writer.write(line)
        writer.close()
    return directory


def _lines(process: Process, begun: int) -> Iterator[bytes]:
    anchor = {"unix_ns": EPOCH_NS + begun + process.clock_ns, "monotonic_ns": begun}
    identity = {"pid": process.pid, "parent_pid": process.parent, "boot_id": process.boot, "host": "host"}
    command = ["python", process.script]
    yield lines.line(
        "process", schema=layout.SCHEMA, **identity, anchor=anchor, command=command, conditions=dict(process.conditions)
    )
    at = begun
    for case in process.cases:
        one, trace = _id(16), _id(32)
        names = {"suite": case.suite, "name": case.name, "attributes": dict(case.attributes)}
        yield lines.line("open", span="case", id=one, trace=trace, at=at, **names)
        start = at
        for number, dispatch in enumerate(case.dispatches):
            at += GAP_NS
            yield from _dispatch(dispatch, number, trace, one, at)
        at += GAP_NS
        if case.outcome is not None:
            measured = {} if case.pressure is None else {"scenetest.cpu.pressure": case.pressure}
            yield lines.line("close", id=one, start=start, end=at, outcome=case.outcome, attributes=measured)
    if process.outside:
        one, trace = _id(16), _id(32)
        yield lines.line("open", span="process", id=one, trace=trace, at=at, name=process.script)
        for number, dispatch in enumerate(process.outside):
            at += GAP_NS
            yield from _dispatch(dispatch, number, trace, one, at)
    if process.clean:
        yield lines.line("end", at=at + GAP_NS)


def _dispatch(dispatch: Dispatch, number: int, trace: str, parent: str, at: int) -> Iterator[bytes]:
    one = _id(16)
    attributes = dict(dispatch.attributes)
    yield lines.line(
        "open", span="dispatch", id=one, trace=trace, parent=parent, at=at, round=number, attributes=attributes
    )
    inside = at
    for place, inner in enumerate(dispatch.inner):
        inside += 1_000
        yield from _dispatch(inner, place, trace, one, inside)
        inside += inner.ns
    if dispatch.conditions_after is not None:
        yield lines.line("conditions", at=at + dispatch.ns // 2, conditions=dict(dispatch.conditions_after))
    if dispatch.ended:
        yield lines.line("close", id=one, start=at, end=at + dispatch.ns, outcome=dispatch.outcome)


def _id(digits: int) -> str:
    return f"{next(_ids):0{digits}x}"
