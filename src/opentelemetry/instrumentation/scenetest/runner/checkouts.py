"""Finds out in which checkouts a run was measured, and whether they had uncommitted changes."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Mapping
from contextlib import suppress
from itertools import permutations
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


def of_other_arm(ran: Mapping[str, Collection[str]], directories: Mapping[str, Path]) -> str:
    """Return what is wrong if an arm ran the harness of the other arm's checkout; "" if none did.

    Args:
        ran: by arm, the checkouts of the harness that it ran.
        directories: by arm, the directory in which it runs.
    """
    for arm, other in permutations(directories, 2):
        for path in ran[arm]:
            if directories[other].is_relative_to(path) and not directories[arm].is_relative_to(path):
                where = f"runs in {directories[arm]}, and ran the harness in {path}, which is that of the {other}"
                why = "the command or its environment names it by an absolute path"
                return f"the {arm} {where}: {why}; name it by a relative one, or install it into the .venv of each arm"
    return ""
