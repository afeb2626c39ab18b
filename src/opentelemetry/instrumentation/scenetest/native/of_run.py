"""The native spans of a run, each under the dispatch or case that encloses it.

Native spans are not stored. The logs are read again each time, so the two can never disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from opentelemetry.instrumentation.scenetest.conditions.values import Value
from opentelemetry.instrumentation.scenetest.native.markers import Record
from opentelemetry.instrumentation.scenetest.native.place import Native, ProcessWindows, Window, place
from opentelemetry.instrumentation.scenetest.native.strace import read
from opentelemetry.instrumentation.scenetest.rundir import layout, logs, reader
from opentelemetry.instrumentation.scenetest.rundir.span import Span

RUN_ID = "scenetest.run_id"
"""Attribute of a dispatch: the harness's own number for it, if its handle has one."""

WORKERS = "scenetest.workers.pids"
"""Attribute of a case, or of a dispatch outside any case: the pids of the workers that its Worker forked."""

_NOT_ENDED = 2**63 - 1


class Enclosing(NamedTuple):
    """The dispatch or case that encloses native spans, with its process."""

    process: reader.ProcessRecord
    span: Span


def native_spans(directory: Path, recorded: Iterable[tuple[reader.ProcessRecord, Iterable[Span]]]) -> Native[Enclosing]:
    """Return the native spans in the logs of a run, each under the dispatch or case that encloses it.

    Args:
        directory: the run directory.
        recorded: the processes of the run with their spans.
    """
    if not has_records(directory):
        return place((), ())
    windows = [_windows(process, list(spans)) for process, spans in recorded]
    return place(_records(logs.logs_of(directory)), windows)


def recorded(directory: Path) -> Iterator[tuple[reader.ProcessRecord, list[Span]]]:
    """Yield the processes of a run with their spans that run no more."""
    for path in layout.journals(directory):
        with suppress(reader.NotAJournalError):
            record = reader.Journal(path)
            yield record.process, [span for span in record.spans() if span.outcome != "running"]


def last_ends(native: Native[Enclosing]) -> dict[str, int]:
    """Return when the last native span ended in each span that has no end, and above it, by span id.

    Args:
        native: the native spans of a run.

    Returns:
        Monotonic nanoseconds of the host.
    """
    found: dict[str, int] = {}
    for placed in native.spans:
        if placed.window is None or placed.start_ns is None or placed.window.owner.span.end_ns is not None:
            continue
        span, end = placed.window.owner.span, placed.start_ns + placed.span.duration_ns
        for span_id in (span.span_id, span.parent_id, span.case.span_id if span.case else None):
            if span_id is not None:
                found[span_id] = max(found.get(span_id, end), end)
    return found


def has_records(directory: Path) -> bool:
    """Tell whether the logs of a run hold any native record: without one nothing else of the run needs to be read."""
    return any(True for _ in _records(logs.logs_of(directory)))


def _records(paths: Iterable[Path]) -> Iterator[Record]:
    for path in paths:
        with path.open("rb") as file:
            yield from read(file)


def _windows(process: reader.ProcessRecord, spans: Sequence[Span]) -> ProcessWindows[Enclosing]:
    return ProcessWindows(
        process.pid,
        process.facts.get("parent_pid"),
        [_window(process, span) for span in spans if span.kind == "dispatch"],
        [_window(process, span) for span in spans if span.kind == "case"],
        process.unix_ns(0),
        frozenset(int(pid) for span in spans for pid in _words(span.attributes.get(WORKERS)) if pid.isdecimal()),
    )


def _words(value: Value | None) -> list[str]:
    return str(value or "").split(",")


def _window(process: reader.ProcessRecord, span: Span) -> Window[Enclosing]:
    """Return the window of a span. If the span never returned, its window has no end."""
    run_id = span.attributes.get(RUN_ID)
    end_ns = _NOT_ENDED if span.end_ns is None else span.end_ns
    return Window(Enclosing(process, span), span.start_ns, end_ns, run_id if isinstance(run_id, int) else None)
