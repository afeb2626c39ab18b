"""Finds out whether the checkouts that a run was measured in had uncommitted changes."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

from opentelemetry.instrumentation.scenetest.rundir import layout, reader

_SECONDS = 10
_CHECKOUT = "scenetest.harness.path"


def dirty(directory: Path) -> dict[str, bool]:
    """Ask git about the checkouts that the journals of a run name, after the run has ended.

    The measured process doesn't do this, because it would have to start another process.

    Args:
        directory: the run directory.

    Returns:
        For each path, whether a tracked file differs from HEAD. A checkout for which git fails is left out.
    """
    found: dict[str, bool] = {}
    for checkout in recorded(directory):
        with suppress(OSError, subprocess.SubprocessError):
            command = ["git", "-C", checkout, "status", "--porcelain", "--untracked-files=no"]
            status = subprocess.run(command, capture_output=True, check=True, timeout=_SECONDS)
            found[checkout] = bool(status.stdout.strip())
    return found


def recorded(directory: Path) -> list[str]:
    """Return the checkouts of the harness that the journals of a run name.

    All conditions of a process are searched, because the first ones may be from before the import of the harness.
    """
    found: set[str] = set()
    for path in layout.journals(directory):
        with suppress(reader.NotAJournalError, OSError):
            found |= {str(one.get(_CHECKOUT, "")) for one in reader.Journal(path).process.sets}
    return sorted(found - {""})
