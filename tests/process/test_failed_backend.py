"""`show` first reports that a backend failed to load, although its module stayed in `sys.modules`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.scripts import PROGRAMS, only_process, record
from support.torch_backends import install_backends

from opentelemetry.instrumentation.scenetest.cli import main


@pytest.mark.parametrize("backend", ["torch_npu without its function", "torch_npu with an undefined symbol"])
def test_the_first_line_says_that_loading_failed_and_names_no_unknown_version(backend: str, tmp_path: Path) -> None:
    backends = tmp_path / "backends"
    install_backends([backend], backends)
    env = {"PYTHONPATH": os.fspath(backends), "BACKEND_TRACE": os.fspath(tmp_path / "trace")}
    run = record(PROGRAMS / "swallows_a_failing_backend.py", tmp_path / "store", env=env)
    assert only_process(run).record.conditions["torch_npu.loaded"] is True
    first, *_ = CliRunner().invoke(main, ["show", str(run.path)]).output.splitlines()
    assert first == (
        "CONTAMINATED  `import torch` ran torch_npu, which failed to load (TORCH_DEVICE_BACKEND_AUTOLOAD unset)"
        ", 1 of 1 processes"
    )


def test_a_backend_whose_failing_is_not_certain_has_no_version_either(tmp_path: Path) -> None:
    # torch fails at this value after its backends, which looks the same.
    backends = tmp_path / "backends"
    install_backends(["torch_npu without its version"], backends)
    env = {
        "PYTHONPATH": os.fspath(backends),
        "BACKEND_TRACE": os.fspath(tmp_path / "trace"),
        "TORCH_LOGS": "no-such-log",
    }
    run = record(PROGRAMS / "swallows_a_failing_backend.py", tmp_path / "store", env=env)
    first, *_ = CliRunner().invoke(main, ["show", str(run.path)]).output.splitlines()
    assert first.startswith("CONTAMINATED  torch_npu was loaded by `import torch`")
    assert "unknown" not in first
