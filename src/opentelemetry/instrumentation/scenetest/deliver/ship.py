"""A run's spans to a backend: batch by batch, each acknowledged, and again until it is accepted."""

from __future__ import annotations

import os
import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from opentelemetry.sdk.trace import ReadableSpan

from opentelemetry.instrumentation.scenetest.deliver import native, spans
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.deliver.refusal import Refused, Taken, Unencodable
from opentelemetry.instrumentation.scenetest.rundir import checkpoint, layout, liveness, reader
from opentelemetry.instrumentation.scenetest.rundir.checkpoint import Acknowledgement

BATCH = 512
"""Spans in one request; the batch size of the SDK."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0

_OfRun = Callable[[Path, Mapping[str, Any]], Iterator[ReadableSpan]]
_OF_THE_WHOLE: dict[str, _OfRun] = {checkpoint.NATIVE: native.of_run, "run": spans.of_run_itself}
"""Spans that are known only when nobody writes any more: native ones are placed among all dispatches."""


class Sender(Protocol):
    """Sends to one backend."""

    def send(self, batch: Sequence[ReadableSpan], /) -> Taken:
        """Send a batch by one attempt; raises Refused or Unencodable."""
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


@dataclass
class Tally:
    """What one delivery did.

    Attributes:
        accepted: spans that a backend has now.
        rejected: spans that it threw away.
        set_aside: spans that cannot be encoded.
        message: the backend's words about the rejected ones.
        refused: why the last attempt failed; None while all goes well.
    """

    accepted: int = 0
    rejected: int = 0
    set_aside: int = 0
    message: str = ""
    refused: Refused | None = None

    @property
    def problem(self) -> str:
        """One sentence on what a backend will never have; empty where it has everything."""
        lost: list[str] = []
        if self.rejected:
            lost.append(
                f"{self.rejected} spans were rejected by the backend" + (f": {self.message}" if self.message else "")
            )
        if self.set_aside:
            lost.append(f"{self.set_aside} spans cannot be encoded and were set aside")
        return "; ".join(lost)


@dataclass
class Shipment:
    """The delivery of one run; to be used by one process at a time, which holds the run's delivery lock.

    Args:
        directory: the run directory.
        run: the run's facts, of `run.json`.
        sender: how it is sent.
        patience: for how many seconds a backend may refuse, without accepting anything, before this gives up.
        told: called after every attempt.
    """

    directory: Path
    run: dict[str, Any]
    sender: Sender
    patience: float
    told: Callable[[Tally], None] = field(default=lambda tally: None)
    tally: Tally = field(default_factory=Tally)

    def deliver(self) -> Tally:
        """Send everything that is not acknowledged yet.

        Spans that are still open in a process that lives, or on another host or boot, wait for a later delivery.

        Raises:
            Refused: the backend does not want it, or not for as long as the patience lasts.
        """
        for path in layout.journals(self.directory):
            # A writer that lives may mark it as incomplete, by another name. A later delivery finds it.
            with suppress(FileNotFoundError):
                self._deliver_journal(path)
        if _journals_are_delivered(self.directory):
            for name, of_run in _OF_THE_WHOLE.items():
                self._deliver_of_whole(name, of_run)
        return self.tally

    def _deliver_journal(self, path: Path) -> None:
        stem = checkpoint.stem(path)
        if checkpoint.has_grown(path):
            for each in (stem, *(self.directory / name for name in _OF_THE_WHOLE)):
                checkpoint.forget(each)
        known = checkpoint.read(stem)
        if known.complete:
            return
        can_end = not _may_live(path)
        known.size = path.stat().st_size if can_end else 0
        with suppress(reader.NotAJournalError):
            fresh = islice(spans.of_journal(path, self.run), known.spans, None)
            self._deliver_all(fresh if can_end else _ended(fresh), stem, known)
        known.complete = can_end
        checkpoint.write(stem, known)

    def _deliver_of_whole(self, name: str, of_run: _OfRun) -> None:
        stem = self.directory / name
        known = checkpoint.read(stem)
        if known.complete:
            return
        self._deliver_all(islice(of_run(self.directory, self.run), known.spans, None), stem, known)
        known.complete = True
        checkpoint.write(stem, known)

    def _deliver_all(self, fresh: Iterator[ReadableSpan], stem: Path, known: Acknowledgement) -> None:
        while batch := list(islice(fresh, BATCH)):
            parts = [batch]
            while parts:
                part = parts.pop()
                taken = self._until_accepted(part)
                if taken is None and len(part) > 1:
                    middle = len(part) // 2
                    parts += [part[middle:], part[:middle]]
                    continue
                self._count(part, taken, known)
                checkpoint.write(stem, known)
                self.told(self.tally)

    def _count(self, part: Sequence[ReadableSpan], taken: Taken | None, known: Acknowledgement) -> None:
        # A backend may count otherwise than we do, but it can't reject what it was not sent.
        rejected, aside = (min(max(taken.rejected, 0), len(part)), 0) if taken else (0, len(part))
        known.spans += len(part)
        known.rejected += rejected
        known.set_aside += aside
        self.tally.accepted += len(part) - rejected - aside
        self.tally.rejected += rejected
        self.tally.set_aside += aside
        self.tally.message = taken.message if taken and taken.message else self.tally.message

    def _until_accepted(self, part: Sequence[ReadableSpan]) -> Taken | None:
        """Return the backend's answer, None for a part that can only be sent in smaller ones."""
        give_up = time.monotonic() + self.patience
        for pause in _pauses():
            try:
                taken = self.sender.send(part)
            except Unencodable:
                return None
            except Refused as refused:
                if refused.too_large and len(part) > 1:
                    return None
                self.tally.refused = refused
                self.told(self.tally)
                pause = max(pause, refused.after or 0)
                if not refused.retry or time.monotonic() + pause > give_up:
                    raise
                time.sleep(pause)
            else:
                self.tally.refused = None
                return taken
        raise AssertionError("pauses never end")


def sender_for(endpoint: Endpoint) -> Sender:
    """Return what speaks the endpoint's protocol; only that one is imported."""
    if endpoint.protocol == "grpc":
        # Its C core would print its own view of every failure on standard error. Read when it is imported.
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        from opentelemetry.instrumentation.scenetest.deliver.over_grpc import GrpcSender

        return GrpcSender(endpoint)
    from opentelemetry.instrumentation.scenetest.deliver.over_http import HttpSender

    return HttpSender(endpoint)


def count_left(directory: Path) -> int:
    """Return about how many spans of a run are not acknowledged: those whose end is in a journal."""
    left = 0
    for path in layout.journals(directory):
        if not checkpoint.is_complete(path):
            sent = 0 if checkpoint.has_grown(path) else checkpoint.read(checkpoint.stem(path)).spans
            with path.open("rb") as file:
                left += max(0, sum(b'"kind":"close"' in line for line in file) - sent)
    return left


def is_delivered(directory: Path) -> bool:
    """Tell whether a run holds nothing that was not sent, from the acknowledgements alone."""
    whole = all(checkpoint.read(directory / name).complete for name in _OF_THE_WHOLE)
    return whole and _journals_are_delivered(directory)


def _journals_are_delivered(directory: Path) -> bool:
    return all(map(checkpoint.is_complete, layout.journals(directory)))


def _may_live(path: Path) -> bool:
    """Tell whether the writer of a journal may still write, or can't be known not to."""
    try:
        record = reader.Journal(path)
    except reader.NotAJournalError:
        return liveness.is_written(path)
    process, facts = record.process, record.process.facts
    if "boot_id" not in facts:  # made of a log, by no process that lives
        return False
    here = os.uname().nodename, liveness.boot_id()
    if process.ended == "running" or (facts.get("host"), facts.get("boot_id")) == here:
        return process.ended == "running"
    # Nobody can be asked about a process elsewhere, but it may have written that it has ended.
    deque(record.spans(), maxlen=0)
    return process.ended != "clean"


def _ended(fresh: Iterator[ReadableSpan]) -> Iterator[ReadableSpan]:
    return (span for span in fresh if not (span.attributes or {}).get("scenetest.end"))


def _pauses() -> Iterator[float]:
    chance = random.Random()
    pause = _FIRST_PAUSE
    while True:
        yield pause * chance.uniform(0.5, 1.5)
        pause = min(2 * pause, _LONGEST_PAUSE)
