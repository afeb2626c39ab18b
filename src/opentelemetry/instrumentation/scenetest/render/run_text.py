"""Prints a run as text, for `show`: the verdict, the line of conditions, the command, a table for each case."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.text import Text

from opentelemetry.instrumentation.scenetest.analyse import contamination, runs
from opentelemetry.instrumentation.scenetest.analyse.dispatches import Dispatches
from opentelemetry.instrumentation.scenetest.analyse.runs import Case, Process, Run
from opentelemetry.instrumentation.scenetest.conditions.case import IN_THREADS, UNASSIGNED
from opentelemetry.instrumentation.scenetest.conditions.harness import READ_BY_NOTHING, raw_attribute
from opentelemetry.instrumentation.scenetest.conditions.overhead import P50, P99
from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, UNKNOWN, Value
from opentelemetry.instrumentation.scenetest.native.alone import DERIVED
from opentelemetry.instrumentation.scenetest.render.durations import unit_of
from opentelemetry.instrumentation.scenetest.render.folding import TableRow, print_line, print_table
from opentelemetry.instrumentation.scenetest.render.native_text import NativeView, accounting
from opentelemetry.instrumentation.scenetest.render.plain import plain
from opentelemetry.instrumentation.scenetest.render.show_columns import FIGURES, MEDIAN, figures
from opentelemetry.instrumentation.scenetest.rundir.span import Span

_STYLES = {"good": "bold green", "bad": "bold white on red", "doubtful": "bold black on yellow"}
_SHORT_ID = 8
_SHOWN_IDS = 3
_OTHERS = 10
"""Maximum number of failed rounds of a case that are listed one by one."""
_DEEPER = 4
"""Indent of the continuation lines of a folded line."""


def print_run(console: Console, run: Run, native: NativeView, *, with_tree: bool = False) -> None:
    """Print a run: verdict, conditions, command, cases, problems.

    Args:
        console: the console.
        run: the run.
        native: its native timings.
        with_tree: whether to print the native timings as trees, too.
    """
    found = contamination.verdict(run)
    verdict = Text.assemble((found.word, _STYLES[contamination.WORDS[found.word]]), "  ", plain(found.reason))
    print_line(console, verdict, indent=_DEEPER)
    print_line(console, "  ".join(_headline(run)), indent=_DEEPER)
    if run.command:
        print_line(console, f"  {plain(shlex.join(run.command))}", indent=_DEEPER, style="dim", end=" \\")
    for process in run.processes:
        _print_process(console, process, native, with_pid=len(run.processes) > 1, with_tree=with_tree)
    if line := accounting(native.counts):
        print_line(console, f"  {line}", indent=_DEEPER)
    for line in _remarks(run):
        print_line(console, line, indent=_DEEPER, style="yellow")


def print_conditions(console: Console, run: Run) -> None:
    """Print every condition of every process, with its use and how it was observed."""
    for process in run.processes:
        console.print()
        print_line(console, f"process {process.record.pid}, ended: {process.record.ended}", style="bold")
        rows: list[TableRow] = []
        for attribute, value in _in_table_order(process.record.conditions):
            use, observed = _declared(attribute)
            rows.append(TableRow([attribute, plain(_worded(value)), use, Text(observed, "dim")]))
        print_table(
            console, ("condition", "value", "use", "how it is observed"), rows, indent=2, stacked=True, widest=40
        )


def _declared(attribute: str) -> tuple[str, str]:
    """Return the use of a condition and how it is observed. A newer version may have recorded an unknown one."""
    condition = CONDITIONS.get(attribute)
    return (condition.use, condition.observed) if condition else ("", "not known to this version")


def _headline(run: Run) -> Iterable[str]:
    """Yield name, time, exit code, rulers, platform, revision, native build and the kind of stderr."""
    yield run.path.name  # the unique name that other commands accept, unlike `run.name`
    if run.started:
        yield f"{run.started:%d %b %H:%M}"
    yield "exit code not known" if run.exit_code is None else f"exit {run.exit_code}"
    dispatches = [kind for process in run.processes for group in process.groups() for kind in group.kinds()]
    rulers = {dispatch.ruler for dispatch in dispatches}
    known = len(rulers - {UNKNOWN})
    yield f"{known} ruler{'' if known == 1 else 's'}" + (" and an unknown one" if UNKNOWN in rulers else "")
    cases = [case.span for process in run.processes for case in process.cases]
    yield from _values([span.how for span in (*cases, *dispatches)], "scenetest.platform")
    processes = [conditions for process in run.processes for conditions in process.sets]
    dirty: dict[str, bool] = run.facts.get("dirty") or {}
    changed = " with changes" if any(dirty.values()) else ""
    for revision in _values(processes, "vcs.ref.head.revision"):
        yield f"simpler {revision[:_SHORT_ID]}{changed}"
    builds = {build for ids in _values(processes, "scenetest.native.build_ids") for build in ids.split(",")}
    if builds:
        ids = sorted({build.partition("=")[2][:_SHORT_ID] for build in builds})
        yield "native " + " ".join(ids[:_SHOWN_IDS]) + (" ..." if len(ids) > _SHOWN_IDS else "")
    yield "stderr: " + ", ".join(_values(processes, "scenetest.stderr"))
    yield from _overhead(processes)
    if (at_once := runs.processes_at_once(run)) > 1:
        yield f"{at_once} processes dispatched at once"


def _overhead(processes: Iterable[dict[str, Value]]) -> Iterable[str]:
    """Yield the recorded duration of an empty dispatch, the largest of all processes; nothing if not recorded."""
    found = [(one.get(P50), one.get(P99)) for one in processes]
    known = [(p50, p99) for p50, p99 in found if isinstance(p50, int) and isinstance(p99, int)]
    if known:
        p50, p99 = (max(values) for values in zip(*known, strict=True))
        yield f"an empty dispatch reads as {p50 / 1e3:.3g} us (p99 {p99 / 1e3:.3g} us)"


def _print_process(console: Console, process: Process, native: NativeView, *, with_pid: bool, with_tree: bool) -> None:
    pid = f"  pid {process.record.pid}" if with_pid else ""
    ended = {"lost": "  the process was lost", "running": "  still running"}.get(process.record.ended, "")
    if not process.cases and not process.dispatches:
        print_line(console, f"{plain(_script(process))}  no case and no dispatch{pid}{ended}", indent=_DEEPER)
    for case in process.cases:
        print_line(console, _case_line(case) + pid + ended, indent=_DEEPER)
        _print_rounds(console, case.dispatches, native)
        _print_changes(console, case.dispatches, case.span)
        if with_tree:
            native.print_tree(console, case.dispatches)
            native.print_tree(console, [case.span], "native, outside any dispatch")
    groups: dict[str, Dispatches] = defaultdict(Dispatches)
    for dispatch in process.dispatches:
        groups[str(dispatch.attributes.get("scenetest.callable", "outside any case"))].append(dispatch)
    for name, dispatches in groups.items():
        print_line(console, f"{plain(name)}  {_rounds(dispatches, None)}{pid}{ended}", indent=_DEEPER)
        _print_rounds(console, dispatches, native)
        _print_changes(console, dispatches)
        if with_tree:
            native.print_tree(console, dispatches)


def _script(process: Process) -> str:
    return shlex.join(str(word) for word in process.record.facts.get("command") or ["python"])


def _print_changes(console: Console, dispatches: Dispatches, *of_case: Span) -> None:
    """Print the ruler conditions that changed during a case or dispatch, with both values."""
    changes = dict.fromkeys(one for span in (*of_case, *dispatches.kinds()) for one in span.changed.split(", ") if one)
    if changes:
        touched = sum(1 for dispatch in dispatches if dispatch.changes)
        of = f"{touched} of {len(dispatches)} dispatches" if dispatches else "the case"
        words = f"  changed meanwhile, so the ruler of {of} is unknown: {', '.join(changes)}"
        print_line(console, plain(words), indent=_DEEPER, style="yellow")


def _case_line(case: Case) -> str:
    attributes = {key: value for key, value in case.span.attributes.items() if value != NOT_RECORDED}
    where = [str(attributes["scenetest.runtime"])] if "scenetest.runtime" in attributes else []
    where += [f"L{attributes['scenetest.level']}"] if "scenetest.level" in attributes else []
    asked = attributes.get("scenetest.rounds")
    outcome = case.span.outcome + (f" ({case.span.error_type})" if case.span.error_type else "")
    given = " ".join(f"{name}={value}" for name, value in runs.given(case.span.attributes))
    rounds = _rounds_of_case(case, asked)
    words = [f"{case.span.suite}::{case.span.name}", " ".join(where), given, outcome, rounds]
    return plain("  ".join(word for word in words if word))


def _rounds_of_case(case: Case, asked: Value | None) -> str:
    """Return the number of rounds of a case, including those in other threads and in forked children."""
    attributes = case.span.attributes
    if case.span.inherited:
        return f"{_rounds(case.dispatches, None)} in a forked child"
    elsewhere = [f"{case.in_children} of them in forked children"] if case.in_children else []
    if threads := attributes.get(IN_THREADS):
        elsewhere.append(f"{threads} of them in other threads")
    if unassigned := attributes.get(UNASSIGNED):
        elsewhere.append(f"{unassigned} more in other threads may be of it")
    return ", ".join([_rounds(case.dispatches, asked, case.in_children), *elsewhere])


def _rounds(dispatches: Dispatches, asked: Value | None, more: int = 0) -> str:
    if not dispatches and not asked and not more:
        return "no dispatch"
    number = len(dispatches) - _inner(dispatches) + more
    count = f"{number} round{'' if number == 1 else 's'}"
    return count if asked is None or asked == number else f"{count} of {asked} asked for"


def _inner(dispatches: Dispatches) -> int:
    """Return how many dispatches lie inside another one. A round is an outermost dispatch."""
    # If all have the same parent, none is nested. This is the fast path for a million dispatches.
    if len({one.parent_id for one in dispatches.kinds()}) <= 1:
        return 0
    return len(dispatches) - len(runs.by_round(dispatches))


def _print_rounds(console: Console, dispatches: Dispatches, native: NativeView) -> None:
    """Print the figures of the rounds, and the figures of the dispatches inside them, by name."""
    if not _inner(dispatches):
        _print_dispatches(console, dispatches, native)
        return
    rounds = runs.by_round(dispatches)
    named: dict[str, Dispatches] = defaultdict(Dispatches)
    for _, inside in rounds:
        for one in inside:
            named[runs.name_inside(one.attributes)].append(one)
    _print_dispatches(console, Dispatches(one for one, _ in rounds), native, named)


def _print_dispatches(
    console: Console, dispatches: Dispatches, native: NativeView, inside: Mapping[str, Dispatches] | None = None
) -> None:
    named = {"dispatch": dispatches, **{plain(name): inner for name, inner in (inside or {}).items()}}
    timed = {name: of_name.durations(_counts) for name, of_name in named.items()}
    rows = [(name, figures(durations)) for name, durations in timed.items() if durations]
    rows += native.figures(one for one in dispatches if one.outcome in ("pass", UNKNOWN))
    if rows:
        lines: list[TableRow] = []
        for label, found in rows:
            unit, size = unit_of(found[MEDIAN])
            lines.append(TableRow([label, unit, *(f"{number / size:.1f}" for number in found.values())]))
        print_table(console, ("", "", *FIGURES), lines, indent=2, numbers=range(2, 2 + len(FIGURES)))
    others = dispatches.others()
    for dispatch in others[:_OTHERS]:
        what = dispatch.error_type or "it never returned" if dispatch.outcome == "aborted" else dispatch.error_type
        line = f"  round {dispatch.round} {dispatch.outcome}" + (f": {what}" if what else "")
        print_line(console, plain(line), indent=_DEEPER)
    if more := others[_OTHERS:]:
        print_line(console, f"  {len(more)} more did not pass; --json has them all", indent=_DEEPER)
    waited = sum(1 for dispatch in dispatches.kinds() if _is_async(dispatch))
    if dispatches and DERIVED in dispatches[0].attributes:
        line = "  dispatches are concluded from native markers: how long they took was not recorded"
        print_line(console, line, indent=_DEEPER)
    elif waited:
        line = f"  {waited} asynchronous: seen to end only when waited for, so not in the figures"
        print_line(console, line, indent=_DEEPER)


def _counts(dispatch: Span) -> bool:
    """Return whether the figures include this dispatch: it passed, and is not asynchronous."""
    return dispatch.outcome == "pass" and not _is_async(dispatch)


def _is_async(dispatch: Span) -> bool:
    return bool(dispatch.attributes.get("scenetest.async"))


def _remarks(run: Run) -> Iterable[str]:
    processes = [conditions for process in run.processes for conditions in process.sets]
    for name in READ_BY_NOTHING:
        for value in _values(processes, raw_attribute(name)):
            yield f"{name}={value} is set, and nothing in the harness reads it"
    clocks = [f"governor {value}" for value in _values(processes, "scenetest.cpu.governor") if value != "performance"]
    clocks += ["turbo on"] if "true" in _values(processes, "scenetest.cpu.turbo") else []
    if clocks:
        yield f"the clocks of the CPUs are not fixed: {', '.join(clocks)}"
    for problem, count in run.problems.items():
        yield f"{count} {problem.replace('_', ' ')}"


def _values(mappings: Iterable[dict[str, Value]], attribute: str) -> list[str]:
    return sorted({plain(_worded(mapping[attribute])) for mapping in mappings if attribute in mapping})


def _in_table_order(conditions: dict[str, Value]) -> list[tuple[str, Value]]:
    order = {attribute: place for place, attribute in enumerate(CONDITIONS)}
    return sorted(conditions.items(), key=lambda item: order.get(item[0], len(order)))


def _worded(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value) or "none"
