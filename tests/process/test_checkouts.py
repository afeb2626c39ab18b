"""Records whether the harness's checkout had uncommitted changes at the end of the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner
from support.scripts import PREAMBLE, clean_environment

from opentelemetry.instrumentation.scenetest.cli import main

GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid"]


def make_checkout(folder: Path) -> Path:
    for name in ("simpler/__init__.py", "simpler/worker.py", "simpler_setup/__init__.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    subprocess.run([*GIT, "init", "-q", str(folder)], check=True)
    subprocess.run([*GIT, "-C", str(folder), "add", "."], check=True)
    subprocess.run([*GIT, "-C", str(folder), "commit", "-qm", "all"], check=True)
    return folder


def record(checkout: Path, store: Path, name: str, first: str = "") -> dict[str, bool]:
    script = first + "import simpler.worker, simpler_setup\n" + PREAMBLE + "with case('S', 'c'), dispatch(): pass"
    command = [sys.executable, "-m", "opentelemetry.instrumentation.scenetest", "run", "--name", name, "--"]
    environment = clean_environment(PYTHONPATH=str(checkout), SCENETEST_OTEL_DIR=str(store))
    subprocess.run([*command, sys.executable, "-c", script], env=environment, check=True, capture_output=True)
    return json.loads((store / name / "run.json").read_text())["dirty"]


def test_a_change_that_no_commit_holds_is_told_and_an_untracked_file_is_none(tmp_path: Path) -> None:
    checkout, store = make_checkout(tmp_path / "checkout"), tmp_path / "store"
    (checkout / "notes.txt").touch()
    real = os.path.realpath(checkout)
    assert record(checkout, store, "clean") == {real: False}
    (checkout / "simpler" / "worker.py").write_text("# changed\n")
    assert record(checkout, store, "changed") == {real: True}
    head = subprocess.run([*GIT, "-C", str(checkout), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    shown = CliRunner().invoke(main, ["show", "--dir", str(store), "changed"]).output
    assert f"simpler {head.stdout[:8]} with changes" in shown


def test_a_checkout_is_asked_about_too_where_torch_was_imported_before_the_harness(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    (checkout / "simpler" / "worker.py").write_text("# changed\n")
    assert record(checkout, tmp_path / "store", "torch", "import torch\n") == {os.path.realpath(checkout): True}
