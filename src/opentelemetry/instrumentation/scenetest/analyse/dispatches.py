"""The dispatches of a case as columns: a million of them take 40 MB, where a million objects take a gigabyte."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import overload

from opentelemetry.instrumentation.scenetest.rundir.added import NOTHING_ADDED
from opentelemetry.instrumentation.scenetest.rundir.span import Span

_NO_ROUND = -1


class Dispatches(Sequence[Span]):
    """Dispatches in the order of their starts.

    Most dispatches passed and have no attributes of their own. Only id, round, start and end of such a dispatch are
    kept, and its `Span` is made on demand from a model, the first one of its kind. Unusual ones are kept as they are.
    """

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self._starts, self._ends, self._rounds, self._ids = array("q"), array("q"), array("q"), array("Q")
        self._kept: dict[int, Span] = {}
        self._models: list[Span] = []
        self._model_begins: list[int] = []
        self._sorted = True
        for span in spans:
            self.append(span)

    def append(self, span: Span) -> None:
        """Add a dispatch; they may come in any order."""
        place = len(self._starts)
        if self._sorted and place and span.start_ns < self._starts[-1]:
            self._sorted = False
        self._starts.append(span.start_ns)
        self._ends.append(span.start_ns if span.end_ns is None else span.end_ns)
        is_usual = span.end_ns is not None and span.outcome == "pass" and not span.attributes
        if not is_usual or span.round is None or span.added is not NOTHING_ADDED:
            self._kept[place] = span
            self._rounds.append(_NO_ROUND)
            self._ids.append(0)
            return
        if not self._models or not _is_alike(span, self._models[-1]):
            self._models.append(span)
            self._model_begins.append(place)
        self._rounds.append(span.round)
        self._ids.append(int(span.span_id, 16))

    def durations(self, counts: Callable[[Span], bool]) -> list[int]:
        """Return the durations of the dispatches that ended, in nanoseconds, in the order of their starts.

        Args:
            counts: tells whether an unusual dispatch counts.
        """
        self._sort()
        left_out = {place for place, span in self._kept.items() if span.end_ns is None or not counts(span)}
        times = zip(self._starts, self._ends, strict=True)
        return [end - start for place, (start, end) in enumerate(times) if place not in left_out]

    def times(self) -> list[tuple[int, int]]:
        """Return start and end of the dispatches that ended, in monotonic nanoseconds."""
        open_ones = {place for place, span in self._kept.items() if span.end_ns is None}
        times = zip(self._starts, self._ends, strict=True)
        return [time for place, time in enumerate(times) if place not in open_ones]

    def starts(self) -> array[int]:
        """Return when each began, in monotonic nanoseconds."""
        self._sort()
        return self._starts

    def ends(self) -> array[int]:
        """Return when each ended, the same; its start where it has no end."""
        self._sort()
        return self._ends

    def span_ids(self) -> Iterator[str]:
        """Yield the id of each, in the order of their starts."""
        self._sort()
        for place, number in enumerate(self._ids):
            kept = self._kept.get(place)
            yield f"{number:016x}" if kept is None else kept.span_id

    def models(self) -> list[tuple[int, Span]]:
        """Return the models, each with the place from which on usual dispatches are like it."""
        self._sort()
        return list(zip(self._model_begins, self._models, strict=True))

    def unusual(self) -> dict[int, Span]:
        """Return the unusual dispatches by their places."""
        self._sort()
        return self._kept

    def is_flat(self) -> bool:
        """Tell whether none lies inside another."""
        above = {kind.parent_id or "" for kind in self.kinds()}
        if not above.isdisjoint(kept.span_id for kept in self._kept.values()):
            return False
        return {int(one, 16) for one in above if one}.isdisjoint(self._ids)

    def kinds(self) -> list[Span]:
        """Return one dispatch of each kind. Dispatches of one kind differ only in id, round, start and end."""
        return [*self._models, *self._kept.values()]

    def others(self) -> list[Span]:
        """Return the dispatches that did not pass, in the order of their starts."""
        self._sort()
        return [span for _, span in sorted(self._kept.items()) if span.outcome != "pass"]

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> Span: ...

    @overload
    def __getitem__(self, index: slice) -> list[Span]: ...

    def __getitem__(self, index: int | slice) -> Span | list[Span]:
        self._sort()
        if isinstance(index, slice):
            return [self._span(place) for place in range(len(self))[index]]
        return self._span(range(len(self))[index])

    def __iter__(self) -> Iterator[Span]:
        self._sort()
        return (self._span(place) for place in range(len(self)))

    def _span(self, place: int) -> Span:
        kept = self._kept.get(place)
        if kept is not None:
            return kept
        model = self._models[bisect_right(self._model_begins, place) - 1]
        return Span(
            "dispatch",
            f"{self._ids[place]:016x}",
            model.trace_id,
            model.parent_id,
            "",
            "",
            self._rounds[place],
            self._starts[place],
            model.attributes,
            model.conditions,
            model.case,
            self._ends[place],
            "pass",
            None,
            model.live,
            model.carried,
            changes=model.changes,
        )

    def _sort(self) -> None:
        if self._sorted:
            return
        spans = sorted((self._span(place) for place in range(len(self))), key=lambda span: span.start_ns)
        self.__init__(spans)


def _is_alike(span: Span, model: Span) -> bool:
    """Tell whether two usual dispatches differ only in id, round, start and end."""
    return (
        span.conditions is model.conditions  # and so of the same changes
        and span.case is model.case
        and span.parent_id == model.parent_id
        and span.trace_id == model.trace_id
        and span.live == model.live
    )
