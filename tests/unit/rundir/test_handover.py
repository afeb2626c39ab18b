"""The environment that the watcher is started with."""

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
