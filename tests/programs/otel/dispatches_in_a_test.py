"""A test that dispatches outside any case: its dispatch belongs to the span of the process."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest import dispatch


def test_dispatches() -> None:
    with dispatch():
        pass


if __name__ == "__main__":
    test_dispatches()
