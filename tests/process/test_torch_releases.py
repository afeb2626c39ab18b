"""The matrix on other releases of torch; `make test-torch-matrix` runs all, `make test` one before autoload existed."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING

import pytest
from support.autoload_cells import (
    TESTS,
    Cell,
    compare,
    happened,
    load_releases,
    run_cell,
    witnessed,
)

if TYPE_CHECKING:
    from pathlib import Path

ROWS = load_releases()
ALL = sorted({release for release, _ in ROWS})
ASKED = os.environ.get("TORCH_RELEASES", "2.4")
CHOSEN = ALL if ASKED == "all" else ASKED.split(",")


@cache
def python_with_torch(release: str) -> str:
    """The interpreter of an environment that is made on first use."""
    command = [sys.executable, str(TESTS.parent / "tools" / "torch_env.py"), *release.split()]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize(("release", "cell"), [row for row in ROWS if row[0] in CHOSEN], ids=str)
def test_the_record_says_what_happened(release: str, cell: Cell, tmp_path: Path) -> None:
    python = python_with_torch(release)
    result = run_cell(cell, tmp_path, python)
    assert witnessed(result, cell) == happened(cell)
    compare(result.observed[-1]["conditions"], cell.conditions, result.trace, python)
