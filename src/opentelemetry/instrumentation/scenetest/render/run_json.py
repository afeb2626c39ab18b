"""A run as one JSON object, for `show --json`."""

from __future__ import annotations

from typing import Any

from opentelemetry.instrumentation.scenetest.analyse.runs import Case, Process, Run
from opentelemetry.instrumentation.scenetest.analyse.tree import by_name
from opentelemetry.instrumentation.scenetest.conditions.values import Value
from opentelemetry.instrumentation.scenetest.native.of_run import Enclosing
from opentelemetry.instrumentation.scenetest.native.place import Native
from opentelemetry.instrumentation.scenetest.rundir.span import Span


def document(run: Run, native: Native[Enclosing] | None = None) -> dict[str, Any]:
    """Return a run as the object that `show --json` prints. docs/reference/json.md describes it.

    Args:
        run: the run.
        native: its native records; None to leave them out.
    """
    return {
        "run": {
            "id": run.id,
            "name": run.name,
            "command": run.command,
            "exit_code": run.exit_code,
            "started": run.started.isoformat() if run.started else None,
        },
        "processes": [_process(process) for process in run.processes],
        **({"native": [name.figures() for name in by_name(native.spans)]} if native else {}),
        "problems": {"torn_lines": 0, **run.problems, **(native.counts.problems() if native else {})},
    }


def _process(process: Process) -> dict[str, Any]:
    record = process.record
    return {
        "pid": record.pid,
        "parent_pid": record.facts.get("parent_pid"),
        "ended": record.ended,
        "conditions": record.conditions,
        "cases": [_case(case, process) for case in process.cases],
        "dispatches": [_dispatch(dispatch, process) for dispatch in process.dispatches],
    }


def _case(case: Case, process: Process) -> dict[str, Any]:
    return {
        "suite": case.span.suite,
        "name": case.span.name,
        "outcome": case.span.outcome,
        **({"inherited": True} if case.span.inherited else {}),
        "attributes": _attributes(case.span, process),
        "phases": [{"name": phase.name, **_times(phase, process)} for phase in case.phases],
        "dispatches": [_dispatch(dispatch, process) for dispatch in case.dispatches],
    }


def _dispatch(dispatch: Span, process: Process) -> dict[str, Any]:
    return {
        "round": dispatch.round,
        "outcome": dispatch.outcome,
        **_times(dispatch, process),
        "attributes": _attributes(dispatch, process),
        "trace_id": dispatch.trace_id,
        "span_id": dispatch.span_id,
    }


def _times(span: Span, process: Process) -> dict[str, int | None]:
    return {"start_unix_ns": process.record.unix_ns(span.start_ns), "duration_ns": span.duration_ns}


def _attributes(span: Span, process: Process) -> dict[str, Value]:
    """Return a span's own attributes, ruler and error, and its conditions that differ from the last of the process."""
    last = process.record.conditions
    changed = {key: value for key, value in span.conditions.items() if last.get(key) != value}
    error: dict[str, Value] = {"error.type": span.error_type} if span.error_type else {}
    meanwhile: dict[str, Value] = {"scenetest.changed": span.changed} if span.changes else {}
    return {**changed, **span.attributes, **error, **meanwhile, "scenetest.ruler": span.ruler}
