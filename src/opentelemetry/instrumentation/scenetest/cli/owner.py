"""The run's own file while its maker lives: locked, and replaced as a whole when there is more to say."""

from __future__ import annotations

import errno
import json
import os

from opentelemetry.instrumentation.scenetest import journal


class Owner:
    """Holds the lock on the `run.json` of a run, by which others know that the run goes on.

    Args:
        directory: the run directory.

    Raises:
        OSError: the file can't be opened.
    """

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, journal.RUN_FILE)
        self._descriptor = os.open(self._path, os.O_RDWR)
        journal.try_lock(self._descriptor)

    def update(self, **facts: object) -> None:
        """Add facts to the file. At every moment there is a whole file, and it is locked.

        Raises:
            OSError: it can't be written; the file is then what it was.
        """
        # By the descriptor that is there: closing another one of the same file would free the lock.
        known = json.loads(os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0))
        data = (json.dumps({**known, **facts}) + "\n").encode("ascii")
        draft = f"{self._path}.new"
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC, journal.FILE_MODE)
        try:
            if os.write(descriptor, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), draft)
            journal.try_lock(descriptor)
            os.rename(draft, self._path)
        except OSError:
            os.close(descriptor)
            os.unlink(draft)
            raise
        os.close(self._descriptor)
        self._descriptor = descriptor

    def release(self) -> None:
        """Free the lock: the run has ended."""
        os.close(self._descriptor)
