"""Text of others, in each form of output."""

from __future__ import annotations

import io
import json

import pytest
from rich.table import Table
from rich.text import Text

from opentelemetry.instrumentation.scenetest.render.plain import markdown, plain, script
from opentelemetry.instrumentation.scenetest.render.plain_console import PlainConsole


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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", "a\\|b"),
        ("<script>x</script>", "\\<script\\>x\\</script\\>"),
        ("[x](http://evil)", "\\[x\\](http://evil)"),
        ("# a\n# b", "# a\\\\x0a# b"),
        ("test_vector", "test_vector"),
        ("\x1b[2J", "\\\\x1b\\[2J"),
    ],
)
def test_nothing_is_markup_in_markdown(text: str, shown: str) -> None:
    assert markdown(text) == shown


@pytest.mark.parametrize("text", ["k<!--<script>", "</script>", "]]>", "\u2028", '"', "\\", "\udcff"])
def test_nothing_ends_or_changes_a_script_element(text: str) -> None:
    written = script({"name": text})
    assert "<" not in written
    assert json.loads(written) == {"name": text}


def test_nothing_in_a_table_or_line_drives_the_terminal() -> None:
    output = io.StringIO()
    console = PlainConsole(file=output, force_terminal=True, color_system="standard", width=200)
    table = Table("name")
    table.add_row("\x1b]0;title\x07case")
    console.print(table)
    console.print(Text("\x1b[2Jrun", style="red"))
    console.print("\x9b31m two\nlines", markup=False)
    written = output.getvalue()
    for attack in ("\x1b]0;", "\x07", "\x1b[2J", "\x9b"):
        assert attack not in written
    assert "\x1b[31m\\x1b[2Jrun" in written
    assert "two\nlines" in written
