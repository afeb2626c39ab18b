"""The figures of the report as plain data, which plotly's JavaScript draws."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from typing import Any, NamedTuple

from opentelemetry.instrumentation.scenetest.analyse.compare.series import Series, Timed
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm
from opentelemetry.instrumentation.scenetest.render.comparison_document import CaseDocument, Document, RowDocument
from opentelemetry.instrumentation.scenetest.render.durations import unit_of

COLORS: Mapping[Arm, str] = {Arm.BASE: "#0072b2", Arm.MEASURE: "#d55e00"}
"""Distinguishable for colour-blind readers (Okabe and Ito), on light and on dark backgrounds."""
SYMBOLS: Mapping[Arm, str] = {Arm.BASE: "circle", Arm.MEASURE: "diamond"}
VERDICTS: Mapping[str, str] = {"slower": "#d55e00", "faster": "#009e73", "same": "#0072b2"}
NO_ANSWER = "#8c8c8c"
FAILED = "#cc0033"

_WIDE = 3.0
"""Use a logarithmic axis above this ratio of the slowest to the fastest round: a linear one would hide warm rounds."""
_SECOND = 1e9
_BELOW = 0.93
_MOST_ROWS = 40
_DRAWN_WHOLE = 5_000
"""Up to this number of points of a kind, all are drawn, even at the same place: a reader may zoom in."""
_PLACES = (600, 250)
"""Number of places across and up. Each is about two pixels wide; a marker has seven pixels."""
_LONGEST_LABEL = 24
_ROW_HEIGHT = 52
_FRAME = 110
"""Height of the axis and the margins around the rows of a figure, in pixels."""


class Figure(NamedTuple):
    """One figure: what it shows in words, plotly's traces, plotly's layout, its height in pixels."""

    words: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]
    height: int = 384


def forest(document: Document) -> Figure | None:
    """Return the forest plot: the delta of each row with both intervals and its verdict, and the margin shaded."""
    rows = [(case, row) for case in document.cases for row in case.rows if row.minimum is not None]
    if len(rows) > _MOST_ROWS:
        rows = [(case, row) for case, row in rows if row.role != "other" or row.verdict in ("slower", "faster")]
    if not rows:
        return None
    several = len(document.cases) > 1
    labels = [_label(case.title if several else "", row) for case, row in rows]
    margin = 100 * rows[0][1].margin
    data = [trace for place, (_, row) in enumerate(rows) for trace in _estimates(len(rows) - 1 - place, row)]
    shade = {"type": "rect", "xref": "x", "yref": "paper", "x0": -margin, "x1": margin, "y0": 0, "y1": 1}
    layout = {
        "showlegend": False,
        "xaxis": {"title": {"text": "change, %"}, "zeroline": True, "automargin": True},
        "yaxis": {
            "tickmode": "array",
            "tickvals": [len(rows) - 1 - place for place in range(len(rows))],
            "ticktext": labels,
            "range": [-0.7, len(rows) - 0.3],
            "automargin": True,
        },
        "shapes": [{**shade, "line": {"width": 0}, "fillcolor": "rgba(128,128,128,0.18)", "layer": "below"}],
    }
    verdicts = "; ".join(f"{case.title} {row.name}: {row.text}" for case, row in rows)
    words = f"Change of each row with its 95 % and 90 % intervals; within {margin:g} % is the same. {verdicts}"
    return Figure(words, data, layout, _FRAME + _ROW_HEIGHT * len(rows))


def _label(title: str, row: RowDocument) -> str:
    name = row.name if len(row.name) <= _LONGEST_LABEL else f"…{row.name[-_LONGEST_LABEL:]}"
    above = f"{_escaped(title.split('  ')[0][:_LONGEST_LABEL])}<br>" if title else ""
    control = " (control)" if row.role == "control" else ""
    shown = f"<b>{_escaped(name)}</b>" if row.role == "named" else _escaped(name)
    return f"{above}{shown}{control}<br><i>{row.verdict}</i>"


def _estimates(place: int, row: RowDocument) -> Iterable[dict[str, Any]]:
    minimum = row.minimum or {}
    delta, color = 100 * minimum["delta"], VERDICTS.get(row.verdict, NO_ANSWER)
    for level, width in (("interval_95", 2), ("interval_90", 6)):
        yield {
            "type": "scatter",
            "mode": "lines",
            "x": [100 * bound for bound in minimum[level]],
            "y": [place, place],
            "line": {"color": color, "width": width},
            "hoverinfo": "skip",
        }
    yield {
        "type": "scatter",
        "mode": "markers",
        "x": [delta],
        "y": [place],
        "marker": {"color": color, "size": 12, "symbol": "diamond", "line": {"color": "white", "width": 1}},
        "text": [f"{_escaped(row.name)}<br>{_escaped(row.text)}"],
        "hovertemplate": "%{text}<extra></extra>",
    }


def pairs(case: CaseDocument) -> Figure | None:
    """Return the figure of the pairs, each as a line from base to measure, which shows whether they agree."""
    row = next((row for row in case.rows if row.role == "named"), None)
    if row is None or not row.pairs:
        return None
    times = [pair[f"{arm.value}_ns"] for pair in row.pairs for arm in Arm]
    unit, size = unit_of(sorted(times)[len(times) // 2])
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": [arm.value for arm in Arm],
            "y": [pair[f"{arm.value}_ns"] / size for arm in Arm],
            "line": {"color": NO_ANSWER, "width": 2},
            "marker": {"color": [COLORS[arm] for arm in Arm], "symbol": [SYMBOLS[arm] for arm in Arm], "size": 10},
            "text": [_escaped(pair[f"{arm.value}_run"]) for arm in Arm],
            "hovertemplate": f"%{{text}}<br>%{{y:.4g}} {unit}<extra></extra>",
        }
        for pair in row.pairs
    ]
    words = f"{row.name}, the fastest warm round of each pair, from base to measure: {row.agreement}"
    axis = {"title": {"text": f"{_escaped(row.name)}, fastest round, {unit}"}, "automargin": True}
    return Figure(words, data, {"showlegend": False, "xaxis": {"range": [-0.4, 1.4]}, "yaxis": axis})


def over_time(case: CaseDocument) -> Figure:
    """Return the figure of all rounds over time: used ones filled, others open, failed ones as crosses."""
    name = " + ".join(case.parts)
    every = [(arm, one, each) for arm, of_arm in case.series.items() for one in of_arm for each in one.rounds]
    times = sorted(each.time_ns for _, _, each in every if each.time_ns is not None)
    unit, size = unit_of(times[len(times) // 2] if times else 0)
    first = min((each.start_ns for _, _, each in every), default=0)
    screen = _Screen(first, max((each.start_ns for _, _, each in every), default=0), times)
    data: list[dict[str, Any]] = []
    for arm in Arm:
        of_arm = [(one, each) for of, one, each in every if of is arm and each.time_ns is not None]
        for use, suffix in (("used", ""), ("cold", "-open"), ("not used", "-open-dot")):
            shown = [(one, each) for one, each in of_arm if each.use == use]
            if shown:
                label = arm.value if use == "used" else f"{arm.value}, {use}"
                marker = {"color": COLORS[arm], "symbol": SYMBOLS[arm] + suffix, "size": 7, "opacity": 0.75}
                data.append({**_markers(label, screen.apart(shown), first, size, unit), "marker": marker})
    lost = [(one, each) for _, one, each in every if each.use == "failed"]
    for outcome in dict.fromkeys(each.outcome for _, each in lost):
        # Their duration is unknown, so they are drawn below the fastest round.
        shown = screen.apart([(one, each) for one, each in lost if each.outcome == outcome])
        level = _BELOW * (times[0] if times else size) / size
        trace = _markers(outcome, shown, first, size, unit)
        marker = {"color": FAILED, "symbol": "x", "size": 11}
        data.append({**trace, "y": [level] * len(shown), "marker": marker, "hovertemplate": "%{text}<extra></extra>"})
    order = " ".join(one.run for one in sorted((one for of in case.series.values() for one in of), key=_start))
    words = f"{name} over time, runs in the order {order}; {len(lost)} rounds did not pass"
    title = "seconds since the first round"
    if screen.left_out:
        title += f" ({screen.left_out:,} of {len(every):,} rounds are not drawn: another one lies in the same place)"
    layout = {"xaxis": {"title": {"text": title}, "automargin": True}}
    return Figure(words, data, {**layout, "yaxis": _axis(name, unit, times)})


class _Screen:
    """Finds points of a figure that are drawn at the same place, so that only one of them is drawn.

    Args:
        first: when the first round began, in monotonic nanoseconds.
        last: when the last one began, in monotonic nanoseconds.
        times: durations of all rounds in nanoseconds, ascending.

    Attributes:
        left_out: number of points that are not drawn, because another one is at the same place.
    """

    def __init__(self, first: int, last: int, times: Sequence[int]) -> None:
        self.left_out = 0
        self._first, self._width = first, max(last - first, 1)
        self._height_of: Callable[[float], float] = log if _is_wide(times) else float
        self._low = self._height_of(times[0]) if times else 0.0
        self._height = (self._height_of(times[-1]) - self._low if times else 0.0) or 1.0

    def apart(self, points: Sequence[tuple[Series, Timed]]) -> Sequence[tuple[Series, Timed]]:
        """Return one point of each place; all points if there are few."""
        if len(points) <= _DRAWN_WHOLE:
            return points
        places: dict[tuple[int, int], tuple[Series, Timed]] = {}
        for one, each in points:
            places.setdefault(self._place(each), (one, each))
        self.left_out += len(points) - len(places)
        return list(places.values())

    def _place(self, each: Timed) -> tuple[int, int]:
        across = (each.start_ns - self._first) / self._width
        up = 0.0 if not each.time_ns else (self._height_of(each.time_ns) - self._low) / self._height
        return int(across * _PLACES[0]), int(up * _PLACES[1])


def _markers(name: str, points: Sequence[tuple[Series, Timed]], first: int, size: float, unit: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [(each.start_ns - first) / _SECOND for _, each in points],
        "y": [(each.time_ns or 0) / size for _, each in points],
        "text": [_round(one, each) for one, each in points],
        "hovertemplate": f"%{{text}}<br>%{{y:.4g}} {unit}<extra></extra>",
    }


def _round(one: Series, each: Timed) -> str:
    state = each.outcome if each.use == "failed" else "" if each.use == "used" else each.use
    return f"{_escaped(one.run)}, round {each.number}" + (f", {state}" if state else "")


def _start(one: Series) -> int:
    return int(one.of.starts[0]) if len(one) else 0


def _escaped(text: str) -> str:
    """Escape text for plotly's labels, which interpret some HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _axis(name: str, unit: str, times: Sequence[int]) -> dict[str, Any]:
    scale = "log" if _is_wide(times) else "linear"
    return {"title": {"text": f"{_escaped(name)}, {unit}"}, "type": scale, "automargin": True}


def _is_wide(times: Sequence[int]) -> bool:
    return bool(times) and times[0] > 0 and times[-1] > _WIDE * times[0]
