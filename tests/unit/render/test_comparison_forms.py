"""Every form of a comparison says everything that any other one says."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from rich.console import Console
from support.journals import CLEAN, Dispatch, Process, write
from support.traps import TRAPS, Trap, case, store_of, verdict

from opentelemetry.instrumentation.scenetest.cli.compare import exit_code
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, UNKNOWN
from opentelemetry.instrumentation.scenetest.render.comparison_document import Document, document
from opentelemetry.instrumentation.scenetest.render.comparison_json import as_json
from opentelemetry.instrumentation.scenetest.render.comparison_markdown import markdown
from opentelemetry.instrumentation.scenetest.render.comparison_text import print_comparison
from opentelemetry.instrumentation.scenetest.render.html.page import page

Form = Callable[[Document], str]


def as_text(found: Document) -> str:
    file = io.StringIO()
    print_comparison(Console(file=file, soft_wrap=True, highlight=False, width=10_000), found)
    return file.getvalue()


def as_read_markdown(found: Document) -> str:
    """Markdown as its reader sees it."""
    return re.sub(r"\\([\\`*<>|\[\]_])", r"\1", re.sub(r"\*\*", "", unescape(markdown(found))))


def as_read_page(found: Document) -> str:
    """The page as its reader sees it, without the scripts."""
    body = page(found).split("<main>")[1].split("</main>")[0]
    return unescape(re.sub(r"<[^>]*>", " ", body))


def as_read_json(found: Document) -> str:
    return "\n".join(_strings(json.loads(json.dumps(as_json(found)))))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield str(key)
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
    else:
        yield str(value)


FORMS: dict[str, Form] = {
    "text": as_text,
    "markdown": as_read_markdown,
    "page": as_read_page,
    "json": as_read_json,
}


def facts(found: Document) -> Iterator[str]:
    """What a reader has to learn: verdicts with their reasons, what was left out, what was allowed, what differs."""
    yield found.headline
    yield found.ending.split(". (exit")[0]
    if found.ruler.comparable:
        yield found.summary
    yield from (*found.warnings, *found.stamps, *found.notes, *found.unrecorded)
    yield from (one.text for one in found.left_out)
    for one in found.refusal.rows:
        yield from (one.attribute, *one.values, one.why)
    for of_case in found.cases:
        yield from (of_case.title, of_case.pressure_text, of_case.overhead_text)
        for row in of_case.rows:
            yield from (row.name, row.text, row.head, *row.lines)
            yield from (f"{bound:+.1f} %" for bound in _bounds(row.minimum))


def _bounds(minimum: object) -> Iterator[float]:
    if isinstance(minimum, dict):
        yield from (100 * minimum["delta"], *(100 * bound for bound in minimum["interval_95"]))


def squeezed(text: str) -> str:
    return " ".join(text.split()).casefold()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_every_form_says_every_fact(trap: Trap, form: str, tmp_path: Path) -> None:
    store_of(tmp_path, trap.base, trap.measure, exit_code=trap.exit_code, order=trap.order)
    comparison = verdict(tmp_path, allow=trap.allow)
    found = document(comparison, *exit_code(comparison, 5.0))
    said = squeezed(FORMS[form](found))
    assert [fact for fact in facts(found) if squeezed(fact) not in said] == []


@pytest.mark.parametrize("form", FORMS)
def test_a_case_of_one_arm_and_the_exit_code_are_in_every_form(form: str, tmp_path: Path) -> None:
    store_of(tmp_path, TRAPS[0].base, TRAPS[2].measure)
    write(tmp_path, "base-9", [Process([case(0, name="extra")], pid=7)], at=400)
    comparison = verdict(tmp_path)
    said = FORMS[form](document(comparison, *exit_code(comparison, 5.0)))
    assert "only in base: Suite::extra" in said.replace("  ", " ") or "only in base: Suite::extra" in said
    assert "The measure lacks a case of the base" in said


@pytest.mark.parametrize("form", FORMS)
def test_names_can_neither_break_a_form_nor_drive_the_terminal(form: str, tmp_path: Path) -> None:
    name = "a|b <script>*_x_`\x1b[31m"

    def made(k: int) -> list[Process]:
        return [Process([case(k, name=name)], pid=1 + k)]

    store_of(tmp_path, made, made)
    found = document(verdict(tmp_path))
    said = FORMS[form](found)
    if form in ("text", "markdown"):
        assert "\x1b" not in said
    if form == "page":
        assert "<script>*" not in page(found).split("<main>")[1].split("</main>")[0]
    if form == "markdown":
        assert "a\\|b \\<script\\>" in markdown(found)


def test_failed_rounds_are_in_no_figure_of_the_verdict(tmp_path: Path) -> None:
    def made(k: int) -> list[Process]:
        one = case(k)
        return [Process([replace(one, dispatches=[*one.dispatches, Dispatch(5, outcome="error")])], pid=1 + k)]

    store_of(tmp_path, made, made)
    found = document(verdict(tmp_path))
    (row,) = found.cases[0].rows
    assert min(pair["base_ns"] for pair in row.pairs) > 90_000_000
    uses = [each.use for of_arm in found.cases[0].series.values() for one in of_arm for each in one.rounds]
    assert (uses.count("failed"), uses.count("used"), uses.count("cold")) == (8, 24, 8)


ACCEPTED = {
    "a condition differs": ("enabled", frozenset({"torch.backend_autoload.effective"})),
    "a condition is unknown": (UNKNOWN, frozenset({"torch.backend_autoload.effective"})),
    "a condition was not recorded": (NOT_RECORDED, frozenset({"not-recorded"})),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("what", ACCEPTED)
def test_what_was_allowed_is_not_called_the_same_ruler_and_is_said(what: str, form: str, tmp_path: Path) -> None:
    value, allow = ACCEPTED[what]
    measured = {**CLEAN, "torch.backend_autoload.effective": value}
    store_of(
        tmp_path,
        lambda k: [Process([case(k)], pid=1 + k)],
        lambda k: [Process([case(k)], conditions=measured, pid=100 + k)],
    )
    comparison = verdict(tmp_path, allow=allow)
    said = squeezed(FORMS[form](document(comparison, *exit_code(comparison, None))))
    assert comparison.cases
    assert "not the same ruler, as allowed" in said
    assert not re.search(r"(?<!not the )same ruler", said)
    assert "allowed" in said.replace("as allowed", "")
