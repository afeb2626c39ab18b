"""Checks that apply to every cell of the autoload matrix."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from support.autoload_cells import interpreter_environment, load_cells

from opentelemetry.instrumentation.scenetest.conditions import autoload_setting

if TYPE_CHECKING:
    from pathlib import Path


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
    environment = interpreter_environment(tmp_path)
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300)
    assert json.loads(done.stdout) == [autoload_setting.enabled_by(value) for value in settings]
