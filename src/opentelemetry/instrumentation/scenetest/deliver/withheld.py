"""Spans that are delivered only when they are asked for, and which those are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from pathlib import Path
from shlex import quote

from opentelemetry.instrumentation.scenetest.rundir import layout, reader
from opentelemetry.instrumentation.scenetest.rundir.process import ProcessRecord
from opentelemetry.instrumentation.scenetest.rundir.span import Span

_MARKS = (b'"flags":', b'"live":true')


class Selection(Enum):
    """Which spans of a run to deliver. Each span belongs to one of these, or the program itself exports it."""

    SAMPLED = ""
    UNSAMPLED = "unsampled"
    """Of traces that were not sampled."""
    LIVE = "live"
    """Made on the program's own provider, which may not have exported them: its process died, or it was not flushed."""

    def has(self, span: Span, process: ProcessRecord) -> bool:
        """Tell whether a span belongs to this selection."""
        if span.live:
            lost = process.unflushed or process.ended in ("lost", "not_seen")
            return self is Selection.LIVE and span.carried.is_sampled and lost
        return self is (Selection.SAMPLED if span.carried.is_sampled else Selection.UNSAMPLED)


def count(directory: Path) -> Counter[Selection]:
    """Return how many spans of a run are withheld, by the selection that they belong to."""
    found = Counter[Selection]()
    for path in layout.journals(directory):
        if not _may_hold_any(path):
            continue
        with suppress(reader.NotAJournalError):
            journal = reader.Journal(path)
            for span in journal.spans():
                for selection in (Selection.UNSAMPLED, Selection.LIVE):
                    found[selection] += span.outcome != "running" and selection.has(span, journal.process)
    return found


def sentences(directory: Path) -> Iterator[str]:
    """Yield a sentence on each kind of span that is withheld, with the command that sends it."""
    found, push, named = count(directory), "to send them: scenetest-otel push", quote(str(directory))
    if number := found[Selection.UNSAMPLED]:
        yield f"{_spans(number)} of traces that were not sampled stay in the run; {push} --unsampled {named}"
    if number := found[Selection.LIVE]:
        yield (
            f"{_spans(number)} made on the program's own tracer provider may not have been exported, "
            f"since the process died or its provider was not flushed; {push} --live {named}"
        )


def _spans(number: int) -> str:
    return f"{number} span{'' if number == 1 else 's'}"


def _may_hold_any(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return any(mark in line for line in file for mark in _MARKS)
    except OSError:
        return False
