"""What came of an attempt, as a sentence."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest.deliver.result import ExportError, shortened


def test_a_failure_is_said_with_its_hint() -> None:
    assert str(ExportError("it is down")) == "it is down"
    assert str(ExportError("it is down", "start it")) == "it is down; start it"


def test_the_words_of_others_are_one_short_line_that_drives_no_terminal() -> None:
    assert shortened(" two\n\tlines ") == "two lines"
    assert shortened("\x1b[31mred") == "[31mred"
    assert shortened(73_000 * "x") == 197 * "x" + "..."
