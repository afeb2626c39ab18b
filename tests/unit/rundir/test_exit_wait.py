"""How long exit waits for the delivery, and what it says then."""

from __future__ import annotations

import os

import pytest

from opentelemetry.instrumentation.scenetest.rundir import exit_wait


@pytest.mark.parametrize(
    ("pid", "variables", "seconds"),
    [
        (5, {}, 1.0),
        (5, {"SCENETEST_OTEL_EXIT_WAIT": "2.5"}, 2.5),
        (5, {"SCENETEST_OTEL_EXIT_WAIT": ""}, 1.0),
        (5, {"SCENETEST_OTEL_EXIT_WAIT": "soon"}, 1.0),
        (5, {"OTEL_EXPORTER_OTLP_TIMEOUT": "3"}, 1.0),
        (1, {"SCENETEST_OTEL_EXIT_WAIT": "2.5"}, 10.0),
        (1, {"OTEL_EXPORTER_OTLP_TIMEOUT": "3"}, 3.0),
    ],
)
def test_how_long_exit_waits(
    pid: int, variables: dict[str, str], seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SCENETEST_OTEL_EXIT_WAIT", "OTEL_EXPORTER_OTLP_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "getpid", lambda: pid)
    assert exit_wait._patience() == seconds


def test_the_printed_command_is_quoted_for_a_shell() -> None:
    line = exit_wait.left("/my runs/a", "not delivered yet")
    assert line == "scenetest-otel: not delivered yet; to send what is left: scenetest-otel push '/my runs/a'"
