"""Loads a stored run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from opentelemetry.instrumentation.scenetest.analyse.dispatches import Dispatches
from opentelemetry.instrumentation.scenetest.analyse.runs import Case, Process, Run
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.rundir import layout, reader, run_file


def load(directory: Path) -> Run:
    """Load a run.

    Args:
        directory: the run directory.

    Raises:
        BadInputError: nothing was recorded in it, or nothing in it can be read.
    """
    processes: list[Process] = []
    problems: dict[str, int] = {}
    unreadable: list[str] = []
    for path in layout.journals(directory):
        try:
            processes.append(_process(path))
        except reader.NotAJournalError:
            unreadable.append(f"{path} is damaged: it is no journal, and the run has no other one")
        except OSError as error:
            unreadable.append(f"{path} can't be read: {error.strerror}")
    if not processes:
        if unreadable:
            raise BadInputError(unreadable[0])
        raise BadInputError(
            f"{directory} is empty: no process of that run imported torch or the harness, or had a case or a dispatch"
        )
    counts = {
        "torn_lines": sum(process.record.torn_lines for process in processes),
        "repeated_lines": sum(process.record.repeated_lines for process in processes),
        "foreign_lines": sum(process.record.foreign_lines for process in processes),
        "incomplete_journals": sum(process.record.incomplete for process in processes),
        "unreadable_journals": len(unreadable),
    }
    problems = {problem: count for problem, count in counts.items() if count}
    processes.sort(key=_first_time)
    _join_inherited(processes)
    return Run(directory, run_file.read(directory), processes, problems)


def _process(path: Path) -> Process:
    record = reader.Journal(path)
    process = Process(record.process)
    cases: dict[str, Case] = {}
    for span in record.spans():
        holder = None if span.case is None else cases.get(span.case.span_id)
        if holder is None and span.case is not None:
            holder = cases[span.case.span_id] = Case(span.case)
        if span.kind == "phase":
            (holder or process).phases.append(span)
        elif span.kind == "dispatch":
            (holder or process).dispatches.append(span)
        elif span.kind == "process":
            process.script = span.name
    for phases in (process.phases, *(case.phases for case in cases.values())):
        phases.sort(key=lambda span: span.start_ns)
    process.cases = sorted(cases.values(), key=lambda case: case.span.start_ns)
    return process


def _join_inherited(processes: list[Process]) -> None:
    """Join the parts of cases that parents and forked children recorded.

    A child gets the outcome that its parent recorded, and the parent the number of the child's rounds. What the child
    dispatched after the end of the case lies outside it: the child could not know of that end.
    """
    own = {case.span.span_id: case for process in processes for case in process.cases if not case.span.inherited}
    for process in processes:
        for case in [case for case in process.cases if case.span.inherited]:
            whole = own.get(case.span.span_id)
            case.span.outcome = "unknown" if whole is None else whole.span.outcome
            end = None if whole is None else whole.span.end_ns
            later = [one for one in case.dispatches if end is not None and one.start_ns >= end]
            if later:
                case.dispatches = Dispatches(one for one in case.dispatches if one.start_ns < later[0].start_ns)
                process.dispatches = Dispatches(
                    [*process.dispatches, *(replace(one, case=None, parent_id=None) for one in later)]
                )
            if not case.dispatches and not case.phases:
                process.cases.remove(case)
            elif whole is not None:
                whole.in_children += len(case.dispatches)


def _first_time(process: Process) -> int:
    return process.record.unix_ns(process.record.facts["anchor"]["monotonic_ns"])
