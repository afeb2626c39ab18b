"""The page: HTML around the figures, with plotly, style and script inside."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

from opentelemetry.instrumentation.scenetest.analyse.compare.comparison import Comparison
from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import DISPATCH
from opentelemetry.instrumentation.scenetest.analyse.compare.rows import CaseRows, Row
from opentelemetry.instrumentation.scenetest.conditions.table import why
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.render import wording
from opentelemetry.instrumentation.scenetest.render.html.figures import Figure, distribution, over_time
from opentelemetry.instrumentation.scenetest.render.ruler_words import context_columns, ruler_columns, stamps, summary


def page(comparison: Comparison) -> str:
    """Return a comparison as a whole HTML document that loads nothing.

    Raises:
        BadInputError: plotly is not installed.
    """
    figures: dict[str, Figure] = {}
    body = "\n".join(_body(comparison, figures))
    drawn = {name: {"data": figure.data, "layout": figure.layout} for name, figure in figures.items()}
    # An end tag inside the data would end the script element (HTML Living Standard, 4.12.1.3).
    data = json.dumps(drawn).replace("</", "<\\/")
    title = " and ".join(", ".join(runs) for runs in comparison.runs.values() if runs)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>{_text("page.css")}</style>
</head>
<body>
<a class="skip" href="#conditions">Skip to the conditions</a>
<main>
{body}
</main>
<script type="application/json" id="figures">{data}</script>
<script>{_plotly()}</script>
<script>{_text("page.js")}</script>
</body>
</html>
"""


def _text(name: str) -> str:
    return (files(__package__ or "") / name).read_text("utf-8")


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
    except ImportError:
        raise BadInputError(
            "the report needs plotly; install it with: pip install 'opentelemetry-instrumentation-scenetest[report]'"
        ) from None
    return str(get_plotlyjs())


def _body(comparison: Comparison, figures: dict[str, Figure]) -> Iterable[str]:
    yield from (f'<p class="warning" role="alert">{escape(warning)}</p>' for warning in comparison.warnings)
    if comparison.gate.same:
        yield "<h1>Same ruler</h1>"
        yield f"<p>{escape(summary(comparison))}</p>"
        yield from (f'<p class="warning">{escape(stamp)}</p>' for stamp in stamps(comparison))
        for case in comparison.cases:
            yield from _verdicts(case, comparison)
    else:
        yield '<h1 class="refused">Not the same ruler</h1>'
        yield "<p>No number: these runs can't be compared.</p>"
    yield from _conditions(comparison)
    for number, case in enumerate(comparison.cases):
        yield from _case(f"case-{number}", case, comparison, figures)
    if comparison.left_out:
        yield "<h2>Left out</h2>"
        yield from (f"<p>{escape(line)}</p>" for line in comparison.left_out)


def _verdicts(case: CaseRows, comparison: Comparison) -> Iterable[str]:
    for row in case.rows:
        if row.role == "named":
            said = escape(wording.verdict(row, comparison.options))
            kind = row.reason.verdict.value
            yield f'<p class="verdict {kind}"><b>{escape(case.key.title)}</b> {escape(row.name)}: {said}</p>'


def _conditions(comparison: Comparison) -> Iterable[str]:
    """All conditions side by side; those of the ruler that differ come first and in red."""
    differing = {one.attribute for one in (*comparison.gate.differences, *comparison.gate.allowed)}
    titles, rows = ruler_columns(comparison)
    yield '<h2 id="conditions" tabindex="-1">Conditions</h2>'
    yield from _table("Ruler: must be equal", titles, sorted(rows, key=lambda row: row[0] not in differing), differing)
    yield "<details><summary>Context: shown, never fatal</summary>"
    yield from _table("Context", *context_columns(comparison), {one.attribute for one in comparison.context}, "noted")
    yield "</details>"


def _table(
    caption: str,
    titles: Sequence[str],
    rows: Sequence[tuple[str, Sequence[str]]],
    marked: set[str],
    mark: str = "differs",
) -> Iterable[str]:
    yield f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
    heads = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    yield f'<caption>{escape(caption)}</caption><thead><tr><th scope="col">condition</th>{heads}</tr></thead><tbody>'
    for attribute, values in rows:
        cells = "".join(f"<td>{escape(value)}</td>" for value in values)
        kind = f' class="{mark}"' if attribute in marked else ""
        reason = f"<br><small>{escape(why(attribute))}</small>" if kind and mark == "differs" else ""
        yield f'<tr{kind}><th scope="row">{escape(attribute)}{reason}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def _case(place: str, case: CaseRows, comparison: Comparison, figures: dict[str, Figure]) -> Iterable[str]:
    yield f"<h2>{escape(case.key.title)}</h2>"
    parts = next((row.parts for row in case.rows if row.role == "named"), (DISPATCH,))
    cold = next((row.warm.cold for row in case.rows), comparison.options.cold)
    drawn: Mapping[str, Figure] = {
        f"{place}-distribution": distribution(case.repetitions, parts, cold),
        f"{place}-time": over_time(case.repetitions, parts, cold),
    }
    figures.update(drawn)
    for name, figure in drawn.items():
        yield f'<div class="figure" id="{name}" role="img" tabindex="0" aria-label="{escape(figure.words)}"></div>'
    if case.rows:
        yield from _rows(case, comparison)


def _rows(case: CaseRows, comparison: Comparison) -> Iterable[str]:
    yield f'<div class="wide" tabindex="0" role="region" aria-label="Times of {escape(case.key.title)}"><table>'
    heads = ("", "base", "measure", "delta of minima (95 %)", "of medians (95 %)", "pairs", "verdict")
    yield f"<thead><tr>{''.join(f'<th scope=col>{head}</th>' for head in heads)}</tr></thead><tbody>"
    for row in case.rows:
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in _cells(row, comparison))
        yield f'<tr><th scope="row">{escape(row.name)}{" (control)" if row.role == "control" else ""}</th>{cells}</tr>'
    yield "</tbody></table></div>"
    for row in case.rows:
        lines = [*wording.controls(row), *wording.remarks(row, comparison.options)]
        if lines:
            items = "".join(f"<li>{escape(line)}</li>" for line in lines)
            yield f"<details><summary>About {escape(row.name)}</summary><ul>{items}</ul></details>"


def _cells(row: Row, comparison: Comparison) -> Iterable[str]:
    pairs = row.pairs
    for times in ([pair.base_ns for pair in pairs], [pair.measure_ns for pair in pairs]):
        yield " ".join(wording.duration(time) for time in times)
    for fit in (row.evidence.minimum, row.evidence.median):
        yield "" if fit is None else wording.estimate(fit)
    yield wording.agreement(row) if pairs else ""
    yield wording.verdict(row, comparison.options)
