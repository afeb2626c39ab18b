"""Prints the native timings for `show`: the figures, the tree of spans, and how many markers were used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from rich.console import Console

from opentelemetry.instrumentation.scenetest.analyse.passes import COLUMNS, Pass, passes
from opentelemetry.instrumentation.scenetest.analyse.tree import tree
from opentelemetry.instrumentation.scenetest.native.of_run import Enclosing
from opentelemetry.instrumentation.scenetest.native.place import Counts, Native, Placed
from opentelemetry.instrumentation.scenetest.render.durations import unit_of
from opentelemetry.instrumentation.scenetest.render.folding import TableRow, print_table
from opentelemetry.instrumentation.scenetest.render.plain import plain
from opentelemetry.instrumentation.scenetest.render.show_columns import FIGURES, FIRST, MEDIAN, figures
from opentelemetry.instrumentation.scenetest.rundir.span import Span

_LABELS = {"control plane": "control plane/pass"}
"""The control plane is a sum within one pass. Several passes of one dispatch are never added."""


class NativeView:
    """The native records of a run, by the dispatch or case that they belong to."""

    def __init__(self, native: Native[Enclosing]) -> None:
        self.counts = native.counts
        self._spans: dict[str, list[Placed[Enclosing]]] = defaultdict(list)
        self._passes: dict[str, list[Pass[Enclosing]]] = defaultdict(list)
        for placed in native.spans:
            if placed.window:
                self._spans[placed.window.owner.span.span_id].append(placed)
        for each in passes(native.spans):
            if each.window:
                self._passes[each.window.owner.span.span_id].append(each)

    def figures(self, owners: Iterable[Span]) -> list[tuple[str, dict[str, float]]]:
        """Return the figures over all passes of these dispatches, if there are any."""
        if not self._passes:
            return []
        of_owners = [each for owner in owners for each in self._passes.get(owner.span_id, ())]
        found = {column: [each.figures[column] for each in of_owners if column in each.figures] for column in COLUMNS}
        return [(_LABELS.get(column, column), figures(values)) for column, values in found.items() if values]

    def print_tree(self, console: Console, owners: Sequence[Span], title: str = "native") -> None:
        """Print the native spans of these dispatches as a tree: count, figures, share of the parent span."""
        if not self._spans:
            return
        root = tree(placed for owner in owners for placed in self._spans.get(owner.span_id, ()))
        if not root.below:
            return
        whole = sum(owner.duration_ns or 0 for owner in owners)
        columns = [name for name in FIGURES if name != FIRST]
        titles = (title, "count", "", *columns, "share")
        rows: list[TableRow] = []
        for depth, name, above in root.walk():
            found = figures(name.durations)
            unit, size = unit_of(found[MEDIAN])
            numbers = (f"{found[column] / size:.1f}" for column in columns)
            total = above.sum_ns if above else whole
            share = f"{100 * name.sum_ns / total:.0f} %" if total else ""
            label = (
                name.name.removeprefix(above.name) if above and name.name.startswith(f"{above.name}.") else name.name
            )
            rows.append(
                TableRow([f"{'  ' * (depth + 1)}{plain(label)}", str(len(name.durations)), unit, *numbers, share])
            )
        print_table(console, titles, rows, indent=2, numbers=(1, *range(3, len(titles))))


def accounting(counts: Counts) -> str:
    """Return in one line how many markers of a run were used; empty if its logs have none."""
    if not counts.seen and not counts.dropped:
        return ""
    words = [
        f"{counts.seen} marker{'' if counts.seen == 1 else 's'}",
        f"{counts.unplaced} not placed" if counts.unplaced else "all placed",
        f"{counts.torn} torn" if counts.torn else "none torn",
        f"{counts.dropped} dropped by the writer" if counts.dropped else "",
        f"{counts.other_version} of a version that is not known here" if counts.other_version else "",
        f"{counts.rank_unknown} bind phases of an unknown rank" if counts.rank_unknown else "",
    ]
    return ", ".join(word for word in words if word)
