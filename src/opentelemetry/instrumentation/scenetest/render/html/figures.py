"""The figures of the report as plain data, for plotly's JavaScript to draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import Repetition, Round
from opentelemetry.instrumentation.scenetest.analyse.compare.rows import Group, time_of
from opentelemetry.instrumentation.scenetest.analyse.durations import unit_of
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm

COLORS: Mapping[Arm, str] = {Arm.BASE: "#0072b2", Arm.MEASURE: "#d55e00"}
"""Told apart by colour-blind readers too (Okabe and Ito), on light and on dark ground."""
SYMBOLS: Mapping[Arm, str] = {Arm.BASE: "circle", Arm.MEASURE: "diamond"}

_WIDE = 3.0
"""Above this ratio of the slowest to the fastest round a linear axis would hide the warm rounds."""
_SECOND = 1e9


class Figure(NamedTuple):
    """One figure: what it shows in words, plotly's traces, plotly's layout."""

    words: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]


class Point(NamedTuple):
    """One round: which repetition, its number, its time in ns, when it began."""

    repetition: Repetition
    number: int
    time_ns: int | None
    round: Round


def distribution(group: Group, parts: tuple[str, ...], cold: int) -> Figure:
    """Every round of both arms, side by side; the boxes are those of the warm ones."""
    name = " + ".join(parts)
    points = {arm: [one for one in _points(group[arm], parts) if one.time_ns is not None] for arm in Arm}
    unit, size = _unit(points.values())
    data: list[dict[str, Any]] = []
    for arm in Arm:
        warm = [one for one in points[arm] if one.number >= cold]
        colds = [one for one in points[arm] if one.number < cold]
        marker = {"color": COLORS[arm], "symbol": SYMBOLS[arm], "size": 5, "opacity": 0.7}
        box = {"boxpoints": "all", "jitter": 0.6, "pointpos": 0, "fillcolor": "rgba(0,0,0,0)", "line": {"width": 1}}
        if warm:
            data.append({"type": "box", **box, **_shown(arm, warm, cold, size, unit), "marker": marker})
        if colds:
            marker = {**marker, "symbol": f"{SYMBOLS[arm]}-open"}
            data.append(
                {"type": "scatter", "mode": "markers", **_shown(arm, colds, cold, size, unit), "marker": marker}
            )
    words = f"Distribution of {name}: " + ", ".join(f"{arm.value} {len(points[arm])} rounds" for arm in Arm)
    return Figure(words, data, {"yaxis": _axis(name, unit, points.values()), "showlegend": False})


def _shown(arm: Arm, points: Sequence[Point], cold: int, size: float, unit: str) -> dict[str, Any]:
    return {
        "name": arm.value,
        "x": [arm.value] * len(points),
        "y": [_in(one, size) for one in points],
        "text": [_label(one, cold) for one in points],
        "hovertemplate": f"%{{text}}<br>%{{y:.4g}} {unit}<extra></extra>",
    }


def over_time(group: Group, parts: tuple[str, ...], cold: int) -> Figure:
    """Every round when it ran, with the order of the arms, and those that never returned."""
    name = " + ".join(parts)
    points = {arm: list(_points(group[arm], parts)) for arm in Arm}
    unit, size = _unit(points.values())
    first = min((one.round.start_ns for of_arm in points.values() for one in of_arm), default=0)
    data: list[dict[str, Any]] = []
    for arm in Arm:
        timed = [one for one in points[arm] if one.time_ns is not None]
        if timed:
            data.append(
                _markers(arm.value, timed, first, cold, [_in(one, size) for one in timed], unit)
                | {"marker": {"color": COLORS[arm], "symbol": SYMBOLS[arm], "size": 6, "opacity": 0.7}}
            )
    lost = [one for of_arm in points.values() for one in of_arm if not one.round.ended]
    if lost:
        # Their time is not known: they stand at the level of the fastest round.
        level = min(_times(points.values()), default=1) / size
        marker = {"color": "#cc0033", "symbol": "x", "size": 11}
        aborted = _markers("aborted", lost, first, cold, [level] * len(lost), unit)
        data.append({**aborted, "marker": marker, "hovertemplate": "%{text}"})
    order = " ".join(one.run for one in sorted([*group[Arm.BASE], *group[Arm.MEASURE]], key=_start))
    words = f"{name} over time, runs in the order {order}; {len(lost)} aborted dispatches"
    layout = {"xaxis": {"title": {"text": "seconds since the first round"}, "automargin": True}}
    return Figure(words, data, {**layout, "yaxis": _axis(name, unit, points.values())})


def _points(repetitions: Sequence[Repetition], parts: tuple[str, ...]) -> Iterable[Point]:
    for repetition in repetitions:
        for number, one in enumerate(repetition.rounds):
            yield Point(repetition, number, time_of(one, parts) if one.ended else None, one)


def _markers(
    name: str, points: Sequence[Point], first: int, cold: int, times: Sequence[float], unit: str
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [(one.round.start_ns - first) / _SECOND for one in points],
        "y": times,
        "text": [_label(one, cold) for one in points],
        "hovertemplate": f"%{{text}}<br>%{{y:.4g}} {unit}<extra></extra>",
    }


def _label(point: Point, cold: int) -> str:
    state = "" if point.round.ended else f", {point.round.outcome}"
    return f"{point.repetition.run}, round {point.number}{' (cold)' if point.number < cold else ''}{state}"


def _start(repetition: Repetition) -> int:
    return repetition.rounds[0].start_ns


def _times(points: Iterable[Sequence[Point]]) -> list[int]:
    return [one.time_ns for of_arm in points for one in of_arm if one.time_ns]


def _unit(points: Iterable[Sequence[Point]]) -> tuple[str, float]:
    times = sorted(_times(points))
    return unit_of(times[len(times) // 2] if times else 0)


def _in(point: Point, size: float) -> float:
    return (point.time_ns or 0) / size


def _axis(name: str, unit: str, points: Iterable[Sequence[Point]]) -> dict[str, Any]:
    times = _times(points)
    wide = bool(times) and max(times) > _WIDE * min(times)
    return {"title": {"text": f"{name}, {unit}"}, "type": "log" if wide else "linear", "automargin": True}
