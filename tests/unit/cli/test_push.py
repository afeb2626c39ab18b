"""What `push` says of many runs."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest.cli.push import _in_one_sentence


def test_a_few_problems_are_all_said() -> None:
    assert _in_one_sentence(["a", "b"]) == "a; b"
    assert _in_one_sentence(list("abcde")) == "a; b; c; d; e"


def test_of_many_problems_some_are_said_and_the_others_counted() -> None:
    assert _in_one_sentence(list("abcdefgh")) == "a; b; c; d; 3 more like these; h"
