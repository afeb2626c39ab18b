"""The HTML page around the figures, with plotly, the style sheet and the script inside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.render.comparison_document import (
    CaseDocument,
    ConditionRow,
    Document,
    RowDocument,
    Sheet,
)
from opentelemetry.instrumentation.scenetest.render.comparison_markdown import pairs as pairs_in_words
from opentelemetry.instrumentation.scenetest.render.html.figures import Figure, forest, over_time, pairs
from opentelemetry.instrumentation.scenetest.render.plain import script


def page(document: Document) -> str:
    """Return a comparison as a complete HTML document that loads no other file.

    Raises:
        BadInputError: plotly is not installed.
    """
    figures: dict[str, Figure] = {}
    body = "\n".join(_body(document, figures))
    drawn = {name: {"data": figure.data, "layout": figure.layout} for name, figure in figures.items()}
    data = script(drawn)
    title = " and ".join(", ".join(runs) for runs in document.runs.values() if runs)
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


_HEADINGS = {
    "SAME RULER": "good",
    "NOT THE SAME RULER": "refused",
    "NOT THE SAME RULER, AS ALLOWED": "doubtful",
    "NOTHING COMPARED": "doubtful",
}


def _body(document: Document, figures: dict[str, Figure]) -> Iterable[str]:
    yield from (f'<p class="warning" role="alert">{escape(warning)}</p>' for warning in document.warnings)
    yield f'<h1 class="{_HEADINGS[document.headline]}">{document.headline.capitalize()}</h1>'
    if document.ruler.comparable:
        yield f"<p>{escape(document.summary)}</p>"
    yield from (f'<p class="warning">{escape(stamp)}</p>' for stamp in document.stamps)
    for case in document.cases:
        yield from _verdicts(case)
    if document.ending:
        yield f"<p><b>{escape(document.ending)}</b></p>"
    answer = forest(document)
    if answer is not None:
        figures["forest"] = answer
        yield "<h2>Change of the fastest round</h2>"
        yield "<p class=note>Thick line: 90 % interval. Thin line: 95 %. Shaded: within the margin, so the same.</p>"
        yield _placed("forest", answer)
    yield from _left_out(document)
    yield from _conditions(document)
    for number, case in enumerate(document.cases):
        yield from _case(f"case-{number}", case, figures)


def _placed(name: str, figure: Figure) -> str:
    height = f"height: {figure.height / 16:g}rem"
    words = escape(figure.words)
    return f'<div class="figure" id="{name}" style="{height}" role="img" tabindex="0" aria-label="{words}"></div>'


def _verdicts(case: CaseDocument) -> Iterable[str]:
    for row in case.rows:
        if row.role == "named":
            title = f"<b>{escape(case.title)}</b> {escape(row.name)}"
            beside = f" <small>({escape(case.pressure_text)})</small>" if case.pressure_text else ""
            yield f'<p class="verdict {row.verdict}">{title}: {escape(row.text)}{beside}</p>'


def _left_out(document: Document) -> Iterable[str]:
    if document.notes:
        yield "<h2>Notes</h2>"
        yield from _items(document.notes)
    if document.left_out:
        yield "<h2>Left out</h2>"
        yield from _items([one.text for one in document.left_out])


def _items(lines: Sequence[str]) -> Iterable[str]:
    yield f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def _conditions(document: Document) -> Iterable[str]:
    """Yield the tables of all conditions: first those that differ; those that are equal are collapsed."""
    yield '<h2 id="conditions" tabindex="-1">Conditions</h2>'
    yield from (f'<p class="warning">{escape(line)}</p>' for line in document.unrecorded)
    yield from _sheet("Ruler: must be equal", document.sheet, "differs")
    yield from _sheet("Context: shown, never fatal", document.context_sheet, "noted")


def _sheet(caption: str, sheet: Sheet, mark: str) -> Iterable[str]:
    differ = [one for one in sheet.rows if one.differs]
    equal = [one for one in sheet.rows if not one.differs]
    if differ:
        yield from _table(f"{caption}. These differ", sheet.titles, differ, mark)
    if equal:
        verb = "is" if len(equal) == 1 else "are"
        yield f"<details><summary>{escape(caption)}. {len(equal)} {verb} the same for all</summary>"
        yield from _table(f"{caption}. The same for all", ["all runs"], equal, "")
        yield "</details>"


def _table(caption: str, titles: Sequence[str], rows: Sequence[ConditionRow], mark: str) -> Iterable[str]:
    yield f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
    heads = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    yield f'<caption>{escape(caption)}</caption><thead><tr><th scope="col">condition</th>{heads}</tr></thead><tbody>'
    for one in rows:
        cells = "".join(f"<td>{escape(value)}</td>" for value in one.values[: len(titles)])
        kind = f' class="{mark}"' if mark else ""
        reason = f"<br><small>{escape(one.why)}</small>" if mark and one.why else ""
        yield f'<tr{kind}><th scope="row">{escape(one.attribute)}{reason}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def _case(place: str, case: CaseDocument, figures: dict[str, Figure]) -> Iterable[str]:
    yield f"<h2>{escape(case.title)}</h2>"
    for name, figure in ((f"{place}-pairs", pairs(case)), (f"{place}-time", over_time(case))):
        if figure is not None:
            figures[name] = figure
            yield _placed(name, figure)
    if case.overhead_text:
        yield f"<p>{escape(case.overhead_text)}</p>"
    if case.rows:
        yield from _rows(case)


def _rows(case: CaseDocument) -> Iterable[str]:
    yield f'<div class="wide" tabindex="0" role="region" aria-label="Times of {escape(case.title)}"><table>'
    heads = ("", "delta of minima (95 %)", "of medians (95 %)", "pairs", "verdict")
    yield f"<thead><tr>{''.join(f'<th scope=col>{head}</th>' for head in heads)}</tr></thead><tbody>"
    for row in case.rows:
        cells = "".join(
            f"<td>{escape(cell)}</td>" for cell in (row.estimate, row.median_estimate, row.agreement, row.text)
        )
        control = " (control)" if row.role == "control" else ""
        yield f'<tr><th scope="row">{escape(row.name)}{control}</th>{cells}</tr>'
    yield "</tbody></table></div>"
    yield from (line for row in case.rows for line in _details(row))


def _details(row: RowDocument) -> Iterable[str]:
    yield f"<details><summary>{escape(row.head)}</summary>"
    yield from _items([*pairs_in_words(row), *row.lines])
    yield "</details>"
