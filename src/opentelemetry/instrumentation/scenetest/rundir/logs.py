"""The logs in a run directory: what the processes of the run printed.

The measured process imports this file: it imports the standard library only, and what is slow to import only in the
function that needs it.
"""

from __future__ import annotations

import os
import re

from opentelemetry.instrumentation.scenetest.rundir import layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

_BLOCK = 1 << 20
_CONTENT = re.compile(r"-[0-9a-f]{12}$")
"""The end of the name of a log that was added: a hash of its content."""


def logs_of(directory: Path) -> list[Path]:
    """Return the logs of a run: what its command printed, what we kept, and what was added later."""
    logs = [*directory.glob("*.log"), *(directory / layout.LOGS).glob("*.log")]
    return sorted(log for log in logs if log.is_file())


def name_of(log: Path) -> str:
    """Return the name that a log had when it was added."""
    return _CONTENT.sub("", log.stem)


def keep(directory: str, source: str, text: str) -> None:
    """Append output that somebody captured to a log of this process.

    Args:
        directory: the run directory.
        source: who captured it. It is the first part of the log's name.
        text: the output.

    Raises:
        OSError: it can't be written.
    """
    folder = os.path.join(directory, layout.LOGS)
    os.makedirs(folder, layout.DIRECTORY_MODE, exist_ok=True)
    with open(os.path.join(folder, f"{source}-{os.getpid()}.log"), "ab", opener=layout.private) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def add(directory: Path, log: BinaryIO, name: str) -> Path | None:
    """Copy a log into a run.

    Args:
        directory: the run directory.
        log: the log, open at its start.
        name: its name there.

    Returns:
        Where it is now. None if the run already has a log with the same content.

    Raises:
        OSError: it can't be read or written.
    """
    from hashlib import sha256
    from pathlib import Path
    from tempfile import NamedTemporaryFile

    folder = directory / layout.LOGS
    folder.mkdir(mode=layout.DIRECTORY_MODE, exist_ok=True)
    digest = sha256()
    with NamedTemporaryFile(dir=folder, delete=False) as copy:
        while block := log.read(_BLOCK):
            digest.update(block)
            copy.write(block)
    # The name contains a hash of the content, so adding the same log again changes nothing.
    content = digest.hexdigest()[:12]
    if any(folder.glob(f"*-{content}.log")):
        os.unlink(copy.name)
        return None
    return Path(copy.name).rename(folder / f"{name}-{content}.log")
