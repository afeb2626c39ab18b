"""Whether the checkouts that a run was measured in had changes that no commit holds."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

from opentelemetry.instrumentation.scenetest.rundir import layout, reader

_SECONDS = 10
_CHECKOUT = "scenetest.harness.path"


def dirty(directory: Path) -> dict[str, bool]:
    """Ask git about the checkouts named by the journals of a run, once the run has ended.

    Not in the measured process: it would start another process there.

    Args:
        directory: the run directory.

    Returns:
        By path whether a tracked file differs from HEAD; a checkout that git can't tell about is left out.
    """
    found: dict[str, bool] = {}
    for checkout in recorded(directory):
        with suppress(OSError, subprocess.SubprocessError):
            command = ["git", "-C", checkout, "status", "--porcelain", "--untracked-files=no"]
            told = subprocess.run(command, capture_output=True, check=True, timeout=_SECONDS)
            found[checkout] = bool(told.stdout.strip())
    return found


def recorded(directory: Path) -> list[str]:
    """Return the checkouts that hold the harness, as the journals of a run name them.

    The first conditions of a process may be from before the harness was imported.
    """
    found: set[str] = set()
    for path in layout.journals(directory):
        with suppress(reader.NotAJournalError, OSError):
            found |= {str(one.get(_CHECKOUT, "")) for one in reader.Journal(path).process.sets}
    return sorted(found - {""})
