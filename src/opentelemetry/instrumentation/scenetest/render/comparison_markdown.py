"""A comparison as Markdown, for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from opentelemetry.instrumentation.scenetest.render import wording
from opentelemetry.instrumentation.scenetest.render.comparison_document import CaseDocument, Document, RowDocument
from opentelemetry.instrumentation.scenetest.render.plain import markdown as markdown_text
from opentelemetry.instrumentation.scenetest.render.plain import plain


def markdown(document: Document) -> str:
    """Return a comparison as Markdown: first the refusal or the verdicts, then one table per case."""
    return "\n".join(_markdown(document)) + "\n"


def _markdown(document: Document) -> Iterable[str]:
    for warning in document.warnings:
        yield f"> **Warning** {markdown_text(warning)}\n"
    yield f"**{document.headline}**" + (f"  {markdown_text(document.summary)}\n" if document.ruler.comparable else "\n")
    yield from _refusal(document)
    for stamp in document.stamps:
        yield f"> **{markdown_text(stamp)}**\n"
    for case in document.cases:
        yield from _verdicts(case)
    yield from _list("", (f"note: {note}" for note in document.notes))
    yield from _list("Left out:", (one.text for one in document.left_out))
    for case in document.cases:
        yield from _case(case)
    if document.ending:
        yield f"**{document.ending}**"


def _refusal(document: Document) -> Iterable[str]:
    sheet = document.refusal
    if sheet.rows:
        yield _line(["", *map(markdown_text, sheet.titles), "why it matters"])
        yield f"|---|{'---|' * len(sheet.titles)}---|"
        for one in sheet.rows:
            yield _line([f"`{one.attribute}`", *map(markdown_text, one.values), markdown_text(one.why)])
        yield ""
    yield from (f"- {markdown_text(line)}; `--allow not-recorded` accepts that" for line in document.unrecorded)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _verdicts(case: CaseDocument) -> Iterable[str]:
    for row in case.rows:
        if row.role == "named":
            beside = f" ({case.pressure_text})" if case.pressure_text else ""
            yield f"**{markdown_text(case.title)}  {markdown_text(row.name)}**: {markdown_text(row.text)}{beside}\n"


def _list(title: str, lines: Iterable[str]) -> Iterable[str]:
    items = [f"- {markdown_text(line)}" for line in lines]
    if items:
        yield from ([title, ""] if title else [])
        yield from items
        yield ""


def _case(case: CaseDocument) -> Iterable[str]:
    yield f"### {markdown_text(case.title)}\n"
    if not case.rows:
        return
    if case.overhead_text:
        yield f"{markdown_text(case.overhead_text)}\n"
    yield "| | base | measure | delta (95 %) | pairs agree | verdict |"
    yield "|---|---:|---:|---:|---:|---|"
    for row in case.rows:
        yield _line(list(_cells(row)))
    yield ""
    for row in case.rows:
        yield f"<details><summary>{escape(plain(row.head))}</summary>\n"
        yield from (f"- {markdown_text(line)}" for line in (*pairs(row), *row.lines))
        yield "\n</details>\n"


def pairs(row: RowDocument) -> Iterable[str]:
    """Yield the pairs of a row in words, one per line."""
    for pair in row.pairs:
        base, measure = wording.duration(pair["base_ns"]), wording.duration(pair["measure_ns"])
        yield f"{pair['base_run']} {base}, {pair['measure_run']} {measure}"


def _cells(row: RowDocument) -> Iterable[str]:
    name = markdown_text(row.name)
    yield f"**{name}**" if row.role == "named" else name + (" (control)" if row.role == "control" else "")
    for arm in ("base", "measure"):
        times = [pair[f"{arm}_ns"] for pair in row.pairs]
        yield wording.duration(sum(times) / len(times)) if times else ""
    yield row.estimate
    yield row.agreement.removesuffix(" pairs agree") if row.minimum else ""
    yield f"**{row.verdict}**" if row.verdict in ("faster", "slower") else markdown_text(row.text)
