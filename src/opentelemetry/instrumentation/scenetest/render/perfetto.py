"""Writes a run in the Trace Event Format, for ui.perfetto.dev and chrome://tracing."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import IO, Any

from opentelemetry.instrumentation.scenetest.analyse.runs import Process, Run
from opentelemetry.instrumentation.scenetest.native.of_run import Enclosing
from opentelemetry.instrumentation.scenetest.native.place import Native
from opentelemetry.instrumentation.scenetest.rundir.span import Span

_NS_PER_US = 1000
# Above all thread ids of Linux (below 2^22), so that they never equal the lane numbers of recorded spans.
_NATIVE_LANES = 1 << 23
_DEVICE_LANES = 1 << 24


def write(run: Run, stream: IO[str]) -> None:
    """Write the run as one trace object. Events are written one by one, so memory doesn't grow with the run.

    Timestamps are microseconds of `CLOCK_MONOTONIC` with fractions, so that the processes of one host line up. A span
    without an end is an instant event at its start, with its outcome in `args`.

    Raises:
        OSError: the stream can't be written.
    """
    facts = {"scenetest.run.id": run.id, "scenetest.run.name": run.name, "command": run.command}
    stream.write(f'{{"displayTimeUnit": "ns", "otherData": {json.dumps(facts)}, "traceEvents": [')
    events = chain(*map(_process_events, run.processes), _native_events(run.native()))
    for number, event in enumerate(events):
        stream.write(f"{',' if number else ''}\n{json.dumps(event)}")
    stream.write("]}\n")


def _process_events(process: Process) -> Iterator[dict[str, Any]]:
    pid = process.record.pid
    command = " ".join(process.record.facts.get("command") or ["python"])
    yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": command}}
    yield {"ph": "M", "pid": pid, "name": "process_labels", "args": {"labels": _labels(process)}}
    anchor = process.record.facts["anchor"]["monotonic_ns"] / _NS_PER_US
    conditions = {"pid": pid, "tid": 0, "name": "conditions", "cat": "process", "ts": anchor, "ph": "i", "s": "p"}
    yield {**conditions, "args": process.record.conditions}
    for lane, span in lanes(_spans(process)):
        event = {"pid": pid, "tid": lane, "name": _name(span), "cat": span.kind, "ts": span.start_ns / _NS_PER_US}
        args = {**span.attributes, "outcome": span.outcome, "span_id": span.span_id, "trace_id": span.trace_id}
        if span.kind in ("case", "dispatch"):
            args["scenetest.ruler"] = span.ruler
        if span.duration_ns is None:
            yield {**event, "ph": "i", "s": "t", "args": args}
        else:
            yield {**event, "ph": "X", "dur": span.duration_ns / _NS_PER_US, "args": args}


def lanes(spans: Iterable[Span]) -> Iterator[tuple[int, Span]]:
    """Assign each span to the first lane in which it only nests, and overlaps no span partly.

    The events of one track must nest. Dispatches of several threads may overlap.

    Args:
        spans: sorted by start; of spans with the same start, the longest first.
    """
    open_ends: list[list[int]] = []
    for span in spans:
        end = span.start_ns if span.end_ns is None else span.end_ns
        for ends in open_ends:
            while ends and ends[-1] <= span.start_ns:
                ends.pop()
        free = (lane for lane, ends in enumerate(open_ends) if not ends or end <= ends[-1])
        lane = next(free, len(open_ends))
        if lane == len(open_ends):
            open_ends.append([])
        open_ends[lane].append(end)
        yield lane, span


def _spans(process: Process) -> Iterator[Span]:
    """Yield the spans of a process in the order that `lanes` needs, without holding all of them."""
    few = [case.span for case in process.own_cases()]
    few += [phase for phases in (process.phases, *(case.phases for case in process.cases)) for phase in phases]
    return heapq.merge(sorted(few, key=_order), *map(_in_order, process.groups()), key=_order)


def _in_order(dispatches: Iterable[Span]) -> Iterator[Span]:
    """Yield dispatches sorted by start, with those of the same start in the order that `lanes` needs."""
    for _, together in groupby(dispatches, key=lambda span: span.start_ns):
        yield from sorted(together, key=_order)


def _order(span: Span) -> tuple[int, int]:
    return span.start_ns, -(span.duration_ns or 0)


def _native_events(native: Native[Enclosing]) -> Iterator[dict[str, Any]]:
    """Yield the native spans, on lanes by process and thread, with separate lanes for device spans."""
    named: set[tuple[int, int]] = set()
    for placed in native.spans:
        if placed.start_ns is None:
            continue
        span, owner = placed.span, placed.window.owner if placed.window else None
        pid = span.pid or (owner.process.pid if owner else 0)
        tid = _DEVICE_LANES + span.tid if span.on_device else _NATIVE_LANES + span.tid
        if (pid, tid) not in named:
            named.add((pid, tid))
            what = "device" if span.on_device else "native" if placed.rank_known else "native, rank unknown"
            yield {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": f"{what} {span.tid}"}}
            if owner and pid != owner.process.pid and (pid, 0) not in named:
                named.add((pid, 0))
                name = f"forked by {owner.process.pid}"
                yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
        event = {"ph": "X", "pid": pid, "tid": tid, "name": span.name, "cat": "native"}
        times = {"ts": placed.start_ns / _NS_PER_US, "dur": span.duration_ns / _NS_PER_US}
        yield {**event, **times, "args": placed.attributes}


def _labels(process: Process) -> str:
    shown = ("torch.backend_autoload.effective", "torch_npu.loaded")
    return ", ".join(f"{key}={process.record.conditions.get(key, 'not recorded')}" for key in shown)


def _name(span: Span) -> str:
    if span.kind == "case":
        return f"{span.suite}::{span.name}"
    return f"dispatch {span.round}" if span.kind == "dispatch" else span.name
