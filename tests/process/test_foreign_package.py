"""A foreign package called `opentelemetry`: one message instead of a traceback, and the program continues."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.scripts import clean_environment

PTH = Path(__file__).parents[2] / "src" / "scenetest_otel.pth"


def test_a_regular_package_of_that_name_costs_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry" / "__init__.py").touch()
    # What `site` does with each line of a .pth file that begins with `import`.
    source = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); exec({PTH.read_text()!r}); print('went on')"
    env = clean_environment(SCENETEST_OTEL_RUN=str(tmp_path / "run"))
    done = subprocess.run([sys.executable, "-S", "-c", source], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "went on\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith("scenetest-otel: this process is not recorded: No module named 'opentelemetry.instr")


def test_without_a_run_the_line_does_nothing(tmp_path: Path) -> None:
    source = f"import sys; before = set(sys.modules); exec({PTH.read_text()!r}); print(set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", source], env=clean_environment(), capture_output=True, check=True)
    assert done.stdout == b"set()\n"
    assert list(tmp_path.iterdir()) == []
