"""Every message that the tool prints is on the troubleshooting page, and every message on the page is printed."""

from __future__ import annotations

import re
from pathlib import Path

from support.messages import ANY, messages, strings

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "opentelemetry" / "instrumentation" / "scenetest"
PAGE = ROOT / "docs" / "troubleshooting.md"


def shown_on_the_page() -> list[str]:
    """The messages that the page quotes: in the first column of its tables, and in its last section."""
    text = PAGE.read_text("utf-8")
    cells = re.findall(r"^\| (.*?) \|", text, re.MULTILINE)
    quoted = [words for cell in cells for words in re.findall(r"`([^`]+)`", cell)]
    return quoted + re.findall(r"`([^`]+)`", text[text.index("## When all is well") :].replace("\n", " "))


def is_of(quoted: str, message: str) -> bool:
    """Whether a reader of the message finds these words: `...` and what is filled in stand for anything."""
    parts = [re.escape(part.strip()) for part in re.split(r"\.\.\.", quoted) if part.strip()]
    return bool(parts) and re.search(".*".join(parts), message.replace("`", "").replace(ANY, " X ")) is not None


def test_every_message_is_found_on_the_page() -> None:
    page = shown_on_the_page()
    missing = [
        f"{one.place}: {one.text.replace(ANY, '...')}"
        for one in messages(SOURCE)
        if len(re.findall(r"[A-Za-z]{2,}", one.text)) > 1 and not any(is_of(quoted, one.text) for quoted in page)
    ]
    assert missing == []


def test_every_message_on_the_page_is_one_that_is_printed() -> None:
    known = [text.replace("  ", " ") for text in strings(SOURCE)]
    stale = [
        quoted
        for quoted in shown_on_the_page()
        if not all(any(part in text.replace("`", "") for text in known) for part in _parts(quoted))
    ]
    assert stale == []


def _parts(quoted: str) -> list[str]:
    return [part.strip() for part in re.split(r"\.\.\.|(?<=[A-Z]{5}) ", quoted) if len(part.strip()) > 3]
