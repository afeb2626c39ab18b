"""Exceptions of every kind are recorded, and raised unchanged."""

from __future__ import annotations

import unittest

import _pytest.outcomes as outcomes

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()


class OddError(BaseException):
    pass


kinds: list[type[BaseException]] = [
    AssertionError,
    ValueError,
    KeyboardInterrupt,
    SystemExit,
    unittest.SkipTest,
    outcomes.Skipped,
    outcomes.Failed,
    OddError,
]
for kind in kinds:
    error = kind("x")
    try:
        with case("S", kind.__name__), dispatch():
            raise error
    except BaseException as caught:
        found = caught
    assert found is error
    assert found.__context__ is None
