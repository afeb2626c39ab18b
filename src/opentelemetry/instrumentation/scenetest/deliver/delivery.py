"""Delivers a run to a backend: batch by batch, with a checkpoint after each one that was accepted."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import Link

from opentelemetry.instrumentation.scenetest.deliver import native, spans
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.deliver.result import EncodingError, ExportError, ExportResult
from opentelemetry.instrumentation.scenetest.deliver.retry import RetryPolicy
from opentelemetry.instrumentation.scenetest.deliver.spans import BATCH
from opentelemetry.instrumentation.scenetest.deliver.withheld import Selection
from opentelemetry.instrumentation.scenetest.rundir import checkpoint, delivery_state, layout, liveness, reader
from opentelemetry.instrumentation.scenetest.rundir.checkpoint import Checkpoint

_RUN = "run"
"""Stands for the name of a journal in the checkpoint for the span of the run itself."""

_OF_WHOLE_RUN = (checkpoint.NATIVE, _RUN)
"""Spans that are known only when all journals are complete: native ones are placed among all dispatches."""

_CHECK_SECONDS = 0.2


class Exporter(Protocol):
    """Exports to one backend."""

    def export(self, batch: Sequence[ReadableSpan], /) -> ExportResult:
        """Send a batch by one attempt.

        Raises:
            ExportError: the backend did not accept it.
            EncodingError: a span in it can't be encoded.
        """
        ...

    def shutdown(self) -> None:
        """Close the connection."""
        ...


class MeasuringError(Exception):
    """A process of the run has begun to measure, so the delivery has to stop."""


@dataclass
class QuietGuard:
    """Detects processes that begin to measure while a run is delivered.

    Args:
        directory: the run directory.
        known: names of journals that don't matter, because their processes measured before.
    """

    directory: Path
    known: set[str]

    def __call__(self) -> None:
        """Look at the journals that are new.

        Raises:
            MeasuringError: a process still writes one of them.
        """
        # Called after every batch. Where there are thousands of journals, only the listing is cheap enough.
        new = set(layout.journal_names(self.directory)) - self.known
        self.known |= new
        if delivery_state.is_any_written(self.directory, new):
            raise MeasuringError


@dataclass
class Tally:
    """What one delivery did.

    Attributes:
        accepted: number of spans that the backend accepted.
        rejected: number of spans that it rejected.
        set_aside: number of spans that can't be encoded.
        message: what the backend said about the rejected ones.
        failure: why the last attempt failed; None after one that succeeded.
    """

    accepted: int = 0
    rejected: int = 0
    set_aside: int = 0
    message: str = ""
    failure: ExportError | None = None

    @property
    def done(self) -> int:
        """Spans that need not be sent again."""
        return self.accepted + self.rejected + self.set_aside

    @property
    def problem(self) -> str:
        """One sentence on the spans that the backend will never have; empty if it has all."""
        lost: list[str] = []
        if self.rejected:
            lost.append(
                f"{self.rejected} spans were rejected by the backend" + (f": {self.message}" if self.message else "")
            )
        if self.set_aside:
            lost.append(f"{self.set_aside} spans cannot be encoded and were set aside")
        return "; ".join(lost)


@dataclass
class Delivery:
    """The delivery of one run. One process at a time may do it: the one that holds the run's delivery lock.

    Args:
        directory: the run directory.
        run: the fields of `run.json`.
        exporter: sends one batch.
        max_elapsed_time: seconds for which a batch is tried before this gives up.
        on_progress: called after every attempt.
        check: called before every attempt, and a few times a second between two; what it raises ends the delivery.
        withheld: what to deliver in addition.
    """

    directory: Path
    run: dict[str, Any]
    exporter: Exporter
    max_elapsed_time: float
    on_progress: Callable[[Tally], None] = field(default=lambda tally: None)
    check: Callable[[], None] = field(default=lambda: None)
    tally: Tally = field(default_factory=Tally)
    withheld: Sequence[Selection] = ()
    _case_links: list[Link] | None = field(default_factory=list[Link])
    """Links to all cases, as the journals are read; None once a journal was not read in this delivery."""

    def deliver(self) -> Tally:
        """Send everything that was not sent yet.

        Spans that are still open in a process that lives, or on another host or boot, wait for a later delivery.

        Raises:
            ExportError: the backend does not accept a batch, or did not within `max_elapsed_time`.
        """
        for path in layout.journals(self.directory):
            # A writer that lives may mark it as incomplete, by another name. A later delivery finds it.
            with suppress(FileNotFoundError):
                self._deliver_journal(path)
        if _journals_are_delivered(self.directory):
            self._deliver_of_whole_run(checkpoint.NATIVE, native.of_run(self.directory, self.run))
            self._deliver_of_whole_run(_RUN, spans.of_run_itself(self.directory, self.run, self._case_links))
            for selection in self.withheld:
                self._deliver_withheld(selection)
        return self.tally

    def _deliver_withheld(self, selection: Selection) -> None:
        for path in layout.journals(self.directory):
            with suppress(reader.NotAJournalError):
                of_journal = spans.of_journal(reader.Journal(path), self.run, None, selection)
                self._deliver_of_whole_run(withheld_name(checkpoint.stem(path).name, selection), of_journal)
        of_native = native.of_run(self.directory, self.run, selection)
        self._deliver_of_whole_run(withheld_name(checkpoint.NATIVE, selection), of_native)
        of_run = spans.of_run_itself(self.directory, self.run, None, selection)
        self._deliver_of_whole_run(withheld_name(_RUN, selection), of_run)

    def _deliver_journal(self, path: Path) -> None:
        stem = checkpoint.stem(path)
        if checkpoint.has_grown(path):
            for each in (stem, *(self.directory / name for name in _OF_WHOLE_RUN)):
                checkpoint.forget(each)
        done = checkpoint.read(stem)
        if done.complete:
            self._case_links = None
            return
        size = path.stat().st_size
        try:
            journal = reader.Journal(path)
        except reader.NotAJournalError:
            done.complete = not liveness.is_written(path)
        else:
            done.size = 0 if may_grow(journal.process) else size
            with closing(spans.of_journal(journal, self.run, self._case_links)) as of_journal:
                fresh = islice(of_journal, done.spans, None)
                # Spans without an end come last, when the whole file was read.
                ended = (span for span in fresh if spans.has_end(span) or not may_grow(journal.process))
                self._deliver_all(ended, stem, done)
            done.complete = not may_grow(journal.process)
        done.size = size if done.complete else 0
        checkpoint.write(stem, done)

    def _deliver_of_whole_run(self, name: str, of_run: Generator[ReadableSpan]) -> None:
        stem = self.directory / name
        done = checkpoint.read(stem)
        if done.complete:
            return
        with closing(of_run):
            self._deliver_all(islice(of_run, done.spans, None), stem, done)
        done.complete = True
        checkpoint.write(stem, done)

    def _deliver_all(self, fresh: Iterator[ReadableSpan], stem: Path, done: Checkpoint) -> None:
        while batch := list(islice(fresh, BATCH)):
            parts = [batch]
            while parts:
                part = parts.pop()
                result = self._send(part)
                if result is None and len(part) > 1:
                    middle = len(part) // 2
                    parts += [part[middle:], part[:middle]]
                    continue
                self._count(part, result, done)
                checkpoint.write(stem, done)
                self.on_progress(self.tally)

    def _send(self, part: Sequence[ReadableSpan]) -> ExportResult | None:
        """Return the backend's answer, None for a part that can only be sent in smaller ones."""

        def attempt() -> ExportResult | None:
            self.check()
            try:
                result = self.exporter.export(part)
            except EncodingError:
                return None
            except ExportError as error:
                if error.too_large and len(part) > 1:
                    return None
                raise
            self.tally.failure = None
            return result

        def on_failure(error: ExportError) -> None:
            self.tally.failure = error
            self.on_progress(self.tally)

        return RetryPolicy(self.max_elapsed_time).run(attempt, on_failure, self._wait)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.check()
            time.sleep(min(left, _CHECK_SECONDS))

    def _count(self, part: Sequence[ReadableSpan], result: ExportResult | None, done: Checkpoint) -> None:
        # A backend may count otherwise than we do, but it can't reject what it was not sent.
        rejected, aside = (min(max(result.rejected, 0), len(part)), 0) if result else (0, len(part))
        done.spans += len(part)
        done.rejected += rejected
        done.set_aside += aside
        self.tally.accepted += len(part) - rejected - aside
        self.tally.rejected += rejected
        self.tally.set_aside += aside
        self.tally.message = result.message if result and result.message else self.tally.message


def exporter_for(endpoint: Endpoint) -> Exporter:
    """Return the exporter for the endpoint's protocol; only that one is imported.

    Raises:
        BadInputError: the environment has something for it that can't be used.
    """
    if endpoint.protocol == "grpc":
        # Its C core would print its own view of every failure on standard error. Read when it is imported.
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        from opentelemetry.instrumentation.scenetest.deliver.grpc_exporter import GrpcExporter

        return GrpcExporter(endpoint)
    from opentelemetry.instrumentation.scenetest.deliver.http_exporter import HttpExporter

    return HttpExporter(endpoint)


def count_left(directory: Path) -> int:
    """Return how many spans of the journals of a run were not sent yet. Its native spans are not counted."""
    left = 0
    for path in layout.journals(directory):
        if not checkpoint.is_complete(path):
            sent = 0 if checkpoint.has_grown(path) else checkpoint.read(checkpoint.stem(path)).spans
            with path.open("rb") as file:
                recorded = sum(b'"kind":"open"' in line and b'"live":true' not in line for line in file)
            left += max(0, recorded - sent)
    return left


def is_delivered(directory: Path) -> bool:
    """Tell from the checkpoints alone whether everything of a run was sent."""
    whole = all(checkpoint.read(directory / name).complete for name in _OF_WHOLE_RUN)
    return whole and _journals_are_delivered(directory)


def withheld_name(name: str, selection: Selection) -> str:
    """Return the name of the checkpoint for the withheld spans of a journal."""
    return f"{name}-{selection.value}"


def has_withheld_left(directory: Path, selection: Selection) -> bool:
    """Tell whether withheld spans of a run were not sent yet."""
    return not checkpoint.read(directory / withheld_name(_RUN, selection)).complete


def may_grow(process: reader.ProcessRecord) -> bool:
    """Tell whether the process of a journal may still write to it. If that can't be known, it may."""
    facts = process.facts
    if "boot_id" not in facts:  # made from a log, by no process that lives
        return False
    if process.ended == "running" or (facts.get("host"), facts.get("boot_id")) == (
        os.uname().nodename,
        liveness.boot_id(),
    ):
        return process.ended == "running"
    # Nobody can be asked about a process elsewhere, but it may have written that it has ended.
    return process.ended != "clean"


def _journals_are_delivered(directory: Path) -> bool:
    return all(map(checkpoint.is_complete, layout.journals(directory)))
