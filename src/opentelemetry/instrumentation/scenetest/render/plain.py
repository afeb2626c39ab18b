"""Text that others wrote, in each form of output: names of runs and cases, conditions, answers of a server.

One function for each form, applied where text enters the output.
"""

from __future__ import annotations

import json
import re

_MARKDOWN = re.compile(r"[\\`*<>|\[\]]|(?<!\w)_|_(?!\w)")
"""Within a word `_` is nothing special (GitHub Flavored Markdown, 6.2)."""


def plain(text: str) -> str:
    """Return text that can't drive the reader's terminal or break the line."""
    return text if text.isprintable() else "".join(map(_printable, text))


def markdown(text: str) -> str:
    """Return text that Markdown prints as it is, and that stays in its cell of a table."""
    return _MARKDOWN.sub(r"\\\g<0>", plain(text))


def script(data: object) -> str:
    """Return data as JSON for a script element of HTML, of which it can't become a part itself.

    HTML Living Standard, 4.12.1.3: `<!--`, `<script` and `</script` change how the rest is read.
    """
    return json.dumps(data).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _printable(char: str) -> str:
    return char if char.isprintable() else f"\\x{ord(char):02x}"
