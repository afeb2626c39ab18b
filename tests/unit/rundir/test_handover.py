"""What the process that delivers is started with, and how long its starter waits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from opentelemetry.instrumentation.scenetest.rundir import handover

if TYPE_CHECKING:
    from pathlib import Path


def test_the_watcher_is_neither_part_of_the_run_nor_instrumented(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCENETEST_OTEL_RUN", "/run")
    environment = handover._environment()
    assert "SCENETEST_OTEL_RUN" not in environment
    assert environment["OTEL_SDK_DISABLED"] == "true"


def test_paths_of_the_environment_hold_in_any_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", "ca.pem")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "/keys/client.pem")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "")
    others = "/site/opentelemetry/instrumentation/auto_instrumentation"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["lib", "", f"{others}/", "/abs"]))
    environment = handover._environment()
    assert environment["OTEL_EXPORTER_OTLP_CERTIFICATE"] == str(tmp_path / "ca.pem")
    assert environment["OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY"] == "/keys/client.pem"
    assert environment["OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"] == ""
    assert environment["PYTHONPATH"] == os.pathsep.join([str(tmp_path / "lib"), "/abs"])


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
    assert handover._patience() == seconds


def test_what_is_left_is_said_as_a_shell_takes_it() -> None:
    line = handover.left("/my runs/a", "not delivered yet")
    assert line == "scenetest-otel: not delivered yet; to send what is left: scenetest-otel push '/my runs/a'"
