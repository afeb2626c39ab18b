"""What holds for every cell of the matrix."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from autoload_cells import Cell, fresh_environment, load_cells
from backends import install_backends

from opentelemetry.instrumentation.scenetest.record import autoload

if TYPE_CHECKING:
    from pathlib import Path


def run_python(program: str, folder: Path, setting: str | None = None, backends: tuple[str, ...] = ()) -> Any:
    """Run a program in a fresh interpreter and return what it prints, as JSON."""
    install_backends(list(backends), folder / "backends")
    cell = Cell("", "", setting, [], {}, {}, [], {}, {}, [])
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, cwd=folder, env=fresh_environment(cell, folder), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_predicate_is_that_of_torch(tmp_path: Path) -> None:
    """Torch's own function, asked for every setting of the matrix."""
    settings = list({cell.setting for cell in load_cells()})
    program = f"""
import json, os, torch
answers = []
for value in {settings!r}:
    os.environ.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    if value is not None:
        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = value
    answers.append(torch._is_device_backend_autoload_enabled())
print(json.dumps(answers))
"""
    assert run_python(program, tmp_path) == [autoload.enabled_by(value) for value in settings]
