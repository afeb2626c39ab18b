"""`doctor`: reports what would be recorded, and problems."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
from support.backends import Backend, serving
from support.runner import CLI
from support.scripts import clean_environment

from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.runner import interpreter

DEMO_DEVICE = Path(sys.prefix) / "demo-device"


def doctor(
    folder: Path, *arguments: str, expect: int = 0, command: tuple[str, ...] = (sys.executable,), **extra: str
) -> dict[str, dict[str, Any]]:
    """Its checks by name."""
    environment = clean_environment(XDG_STATE_HOME=str(folder / "state"), **extra)
    done = subprocess.run(
        [CLI, "doctor", "--json", *arguments, "--", *command],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == expect, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["ok"] is (expect == 0)
    return {check["name"]: check for check in report["checks"]}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment without packages."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home, with_pip=False)
    return home


def test_all_is_well_in_the_environment_of_the_package(tmp_path: Path) -> None:
    found = doctor(tmp_path)
    assert {name: found[name]["status"] for name in ("python", "package", "joins a run", "store")} == {
        "python": "ok",
        "package": "ok",
        "joins a run": "ok",
        "store": "ok",
    }
    assert found["endpoint"]["status"] == "note"
    assert list(tmp_path.iterdir()) == []


def test_a_python_without_the_package_is_wrong(tmp_path: Path, bare: Path) -> None:
    found = doctor(tmp_path, command=(str(bare / "bin" / "python"),), expect=6)
    assert found["package"]["status"] == "wrong"
    assert "pip install opentelemetry-instrumentation-scenetest" in found["package"]["hint"]


def test_a_package_on_pythonpath_alone_is_wrong(tmp_path: Path, bare: Path) -> None:
    target = tmp_path / "target"
    source = Path(__file__).resolve().parents[2] / "src"
    shutil.copytree(source / "opentelemetry", target / "opentelemetry")
    shutil.copy(source / "scenetest_otel.pth", target)
    found = doctor(tmp_path, command=(str(bare / "bin" / "python"),), expect=6, PYTHONPATH=str(target))
    assert "is not in a site directory" in found["joins a run"]["message"]


def test_python_without_site_is_wrong(tmp_path: Path) -> None:
    source = str(Path(__file__).resolve().parents[2] / "src")
    found = doctor(tmp_path, command=(sys.executable, "-S", "x.py"), expect=6, PYTHONPATH=source)
    assert "-S" in found["joins a run"]["message"]


def test_a_registered_backend_is_named_before_torch_loads_it(tmp_path: Path) -> None:
    found = doctor(tmp_path, PYTHONPATH=str(DEMO_DEVICE))
    assert found["backends"]["status"] == "note"
    assert "demo-device" in found["backends"]["message"]
    off = doctor(tmp_path, PYTHONPATH=str(DEMO_DEVICE), TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert off["backends"]["status"] == "ok"
    assert "import torch" not in found


def test_torch_is_imported_only_when_asked_for(tmp_path: Path) -> None:
    found = doctor(tmp_path, "--import", PYTHONPATH=str(DEMO_DEVICE))
    assert found["import torch"]["message"] == "autoload: loaded"


def test_a_switch_that_keeps_everything_from_being_recorded_is_wrong(tmp_path: Path) -> None:
    assert doctor(tmp_path, expect=6, OTEL_SDK_DISABLED="true")["switch"]["status"] == "wrong"


def test_a_variable_that_startup_rewrites_is_told(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os; os.environ['TORCH_DEVICE_BACKEND_AUTOLOAD'] = '1'")
    found = doctor(tmp_path, PYTHONPATH=str(tmp_path), TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert found["variable"]["message"].startswith("TORCH_DEVICE_BACKEND_AUTOLOAD was '0' when Python started")


def test_the_harness_is_named_with_the_hooks_that_its_version_lacks(tmp_path: Path) -> None:
    harness = Path(__file__).resolve().parents[1] / "harness"
    copy = tmp_path / "harness"
    shutil.copytree(harness, copy)
    assert doctor(tmp_path, PYTHONPATH=str(copy))["harness"]["status"] == "ok"
    worker = copy / "simpler" / "worker.py"
    worker.write_text(worker.read_text().replace("def submit(", "def submitted(").replace(".submit(", ".submitted("))
    found = doctor(tmp_path, PYTHONPATH=str(copy))
    assert "simpler.worker.Worker.submit" in found["harness"]["message"]


def test_an_endpoint_that_answers_is_well_and_gets_no_span(tmp_path: Path) -> None:
    with serving(Backend()) as backend:
        found = doctor(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=backend.url)
    assert found["endpoint"]["status"] == "ok"
    assert (backend.requests, len(backend.taken)) == (1, 0)


def test_an_endpoint_with_the_wrong_protocol_says_which_is_right(tmp_path: Path) -> None:
    with serving(Backend()) as backend:
        found = doctor(tmp_path, expect=6, OTEL_EXPORTER_OTLP_ENDPOINT=backend.url, OTEL_EXPORTER_OTLP_PROTOCOL="grpc")
    assert found["endpoint"]["hint"] == "it answers http/protobuf: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"


def test_an_endpoint_that_nothing_listens_at_is_wrong(tmp_path: Path) -> None:
    found = doctor(tmp_path, expect=6, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1")
    assert "no answer from http://127.0.0.1:1/v1/traces" in found["endpoint"]["message"]


def test_a_store_that_can_not_be_written_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = doctor(tmp_path, "--dir", str(tmp_path / "file"), expect=6)
    assert found["store"]["status"] == "wrong"


def test_for_people_every_check_is_a_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [CLI, "doctor", "--", sys.executable],
        env=clean_environment(XDG_STATE_HOME=str(tmp_path)),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert [line.split()[:2] for line in done.stdout.splitlines() if not line.startswith(" ")][:2] == [
        ["ok", "python"],
        ["ok", "package"],
    ]


def script(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_the_python_of_a_script_is_the_one_that_it_names(tmp_path: Path) -> None:
    python = sys.executable
    assert interpreter.of_command([script(tmp_path / "a", f"#!{python} -I\n"), "x"]) == [python, "-I"]
    long = f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n"
    assert interpreter.of_command([script(tmp_path / "b", long)]) == [python]
    name = os.path.basename(python)
    found = interpreter.of_command([script(tmp_path / "c", f"#!/usr/bin/env {name}\n")])
    assert found == [shutil.which(name)]
    assert interpreter.of_command([python, "-S", "-m", "x"]) == [python, "-S"]


@pytest.mark.parametrize("command", ["no-such-command", "ls"])
def test_a_command_whose_python_can_not_be_told_is_one_sentence(command: str) -> None:
    with pytest.raises(BadInputError):
        interpreter.of_command([command])
