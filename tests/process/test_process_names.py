"""A process is named after its script or module, however it was started."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.runner import run
from support.scripts import PROGRAMS, only_process, only_run

from opentelemetry.instrumentation.scenetest.deliver import spans

TEST = str(PROGRAMS / "otel/dispatches_in_a_test.py")
QUIET = ("--noconftest", "-p", "no:cacheprovider", "-c", "/dev/null", TEST)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ([sys.executable, "-m", "pytest", *QUIET], "pytest"),
        ([str(Path(sys.executable).with_name("pytest")), *QUIET], "pytest"),
        ([sys.executable, "-W", "ignore", "-X", "dev", TEST], "dispatches_in_a_test.py"),
    ],
)
def test_the_span_of_a_process_is_named_for_its_script_or_module(command: list[str], name: str, tmp_path: Path) -> None:
    run(tmp_path, command)
    recorded = only_run(tmp_path)
    assert only_process(recorded).record.facts["name"] == name
    names = [span.name for span in spans.of_run(recorded.path, recorded.facts)]
    assert names == ["dispatch", name, f"run {recorded.name}"]


def test_a_process_without_a_case_has_the_same_name(tmp_path: Path) -> None:
    program = tmp_path / "imports_only.py"
    program.write_text("import torch\n")
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("import torch.version\n")
    (tmp_path / "torch" / "version.py").touch()
    run(tmp_path / "store", [sys.executable, "-W", "ignore", str(program)])
    recorded = only_run(tmp_path / "store")
    names = [span.name for span in spans.of_run(recorded.path, recorded.facts)]
    assert names[0] == "imports_only.py"
