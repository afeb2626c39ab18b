"""Text of others on the reader's terminal."""

from __future__ import annotations

import pytest

from opentelemetry.instrumentation.scenetest.render.plain import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("a b\u00e9\u4e2d", "a b\u00e9\u4e2d"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("two\nlines\r", "two\\x0alines\\x0d"),
        ("\x9b", "\\x9b"),
        ("\u202e", "\\x202e"),
        ("\udcff", "\\xdcff"),
    ],
)
def test_nothing_drives_the_terminal_or_breaks_the_line(text: str, shown: str) -> None:
    assert plain(text) == shown
