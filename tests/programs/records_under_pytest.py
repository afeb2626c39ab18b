"""Tests for the pytest plugin: one with a case, one with none, and one that fails."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest import case, dispatch


def test_with_a_case() -> None:
    with case("Suite", "name"), dispatch():
        pass


def test_without() -> None:
    pass
