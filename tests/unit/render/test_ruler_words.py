"""Values of conditions in words."""

from __future__ import annotations

import pytest

from opentelemetry.instrumentation.scenetest.conditions.values import Value
from opentelemetry.instrumentation.scenetest.render.ruler_words import worded


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "n/a"), (True, "yes"), (False, "no"), ("", "none"), ("file", "file"), (0, "0"), (1.5, "1.5")],
)
def test_a_value_is_worded_as_a_reader_takes_it_in(value: Value | None, words: str) -> None:
    assert worded(value) == words
