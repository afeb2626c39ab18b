"""Escapes foreign text for each output format: names of runs and cases, conditions, answers of a server.

There is one function per format. Apply it where the text enters the output.
"""

from __future__ import annotations

import json
import re

_MARKDOWN = re.compile(r"[\\`*<>|\[\]]|(?<!\w)_|_(?!\w)")
"""Inside a word, `_` has no special meaning (GitHub Flavored Markdown, 6.2)."""


def plain(text: str) -> str:
    """Escape control characters, so that the text can't control the terminal or break the line."""
    return text if text.isprintable() else "".join(map(_printable, text))


def markdown(text: str) -> str:
    """Escape text so that Markdown shows it literally, also inside a table cell."""
    return _MARKDOWN.sub(r"\\\g<0>", plain(text))


def script(data: object) -> str:
    """Return data as JSON that can't end the HTML script element around it.

    HTML Living Standard, 4.12.1.3: `<!--`, `<script` and `</script` change how the rest is parsed.
    """
    return json.dumps(data).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _printable(char: str) -> str:
    return char if char.isprintable() else f"\\x{ord(char):02x}"
