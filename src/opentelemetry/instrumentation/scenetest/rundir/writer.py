"""Writes a journal: one per process, append-only, locked for as long as its writer lives.

docs/reference/journal.md describes the lines. The page cache keeps what was written when the process dies.
"""

from __future__ import annotations

import errno
import fcntl
import os
from fcntl import fcntl as control

from opentelemetry.instrumentation.scenetest.rundir import layout, liveness

TYPE_CHECKING = False
if TYPE_CHECKING:
    Identity = tuple[int, int]

_FIRST_DESCRIPTOR = 250
_GET_MARK = fcntl.F_GETSIG
_MARK = 60
"""A signal number. A file says it by F_GETSIG once it is set by F_SETSIG, and 0 before: nobody else sets one without
asking for signals. To ask for it takes a quarter of a `write`; to ask for device and inode takes two."""


class Writer:
    """Appends lines to a new journal in a run directory and holds its lock.

    The program may close our descriptor, and its number may then be that of a file of the program's own. So nothing is
    written to it or closed before it is known to be our file still: by the mark that an open file of ours has, and
    where kernels keep none by device and inode, which a new file may have again once ours was removed.

    Attributes:
        path: the journal's file.
        locked: whether the file system gave a lock; network mounts may not.

    Raises:
        OSError: the directory or the file can't be made.
    """

    __slots__ = ("_descriptor", "_identity", "_marked", "_torn", "locked", "path")

    def __init__(self, directory: str) -> None:
        os.makedirs(directory, layout.DIRECTORY_MODE, exist_ok=True)
        self.path = os.path.join(directory, f"{os.getpid()}-{os.urandom(4).hex()}{layout.JOURNAL_SUFFIX}")
        self._descriptor = open_apart(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL)
        self._identity = identity(self._descriptor)
        self._marked = _mark(self._descriptor)
        self._torn = False
        self.locked = liveness.try_lock(self._descriptor)

    def write(self, line: bytes) -> None:
        """Append one line by one `write(2)`.

        Args:
            line: ASCII, with its newline.

        Raises:
            OSError: it could not be written whole. The file is then marked incomplete by its name, since that needs
                no space, and the next line starts on a line of its own.
        """
        if self._torn:
            line = b"\n" + line
        try:
            is_ours = control(self._descriptor, _GET_MARK) == _MARK
        except OSError:
            is_ours = False
        try:
            if not is_ours:
                self._find_again()
            written = os.write(self._descriptor, line)
        except OSError:
            self._mark_incomplete()
            raise
        self._torn = written != len(line)
        if self._torn:
            self._mark_incomplete()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)

    def close(self) -> None:
        """Close the file and free its lock. In a forked child this closes the inherited descriptor only."""
        if not self._marked:
            close_own(self._descriptor, self._identity)
        elif _is_marked(self._descriptor):
            os.close(self._descriptor)

    def _find_again(self) -> None:
        """Go on in the same file, if the program has closed it: the mark of ours was not found."""
        if not self._marked and identity(self._descriptor) == self._identity:
            return
        descriptor = open_apart(self.path, os.O_WRONLY | os.O_APPEND)
        if identity(descriptor) != self._identity:
            os.close(descriptor)
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        self._descriptor = descriptor
        self._marked = _mark(descriptor)
        self.locked = liveness.try_lock(descriptor)

    def _mark_incomplete(self) -> None:
        if self.path.endswith(layout.INCOMPLETE_SUFFIX):
            return
        renamed = self.path.removesuffix(layout.JOURNAL_SUFFIX) + layout.INCOMPLETE_SUFFIX
        os.rename(self.path, renamed)
        self.path = renamed


class Scratch(Writer):
    """A journal that nobody sees and that is gone when it is closed.

    Args:
        directory: it is on the same file system; without one, or where that has no nameless files, in memory.

    Raises:
        OSError: there is no place for it.
    """

    __slots__ = ()

    def __init__(self, directory: str | None) -> None:
        self.path = layout.INCOMPLETE_SUFFIX
        self._descriptor = _nameless(directory)
        self._identity = identity(self._descriptor)
        self._marked = _mark(self._descriptor)
        self._torn = self.locked = False


def _nameless(directory: str | None) -> int:
    if directory is not None:
        try:
            return os.open(directory, os.O_TMPFILE | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, layout.FILE_MODE)
        except OSError:  # the file system has none, or is full
            pass
    return os.memfd_create("scenetest-overhead")


def _mark(descriptor: int) -> bool:
    """Mark an open file as ours, and tell whether the kernel keeps the mark."""
    try:
        control(descriptor, fcntl.F_SETSIG, _MARK)
    except OSError:
        return False
    return _is_marked(descriptor)


def _is_marked(descriptor: int) -> bool:
    try:
        return control(descriptor, _GET_MARK) == _MARK
    except OSError:
        return False


def identity(descriptor: int) -> Identity | None:
    """Return which file a descriptor refers to, by device and inode; None where it is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def close_own(descriptor: int, expected: Identity | None) -> None:
    """Close a descriptor if it still refers to the file that we opened, else leave it to the program."""
    if identity(descriptor) == expected:
        os.close(descriptor)


def open_apart(path: str, flags: int) -> int:
    """Open a file that nobody else may read, with a number that no file of the program's own is likely to get.

    Where a process has closed a standard stream, a file gets its number, and what a native library prints lands in the
    file. Where a program closes all files and opens its own, one of these gets ours, and our lines would land in it.

    Raises:
        OSError: it can't be opened.
    """
    descriptor = os.open(path, flags, layout.FILE_MODE)
    try:
        apart = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_DESCRIPTOR)
    except OSError:  # the process may not have as many
        if descriptor > 2:
            return descriptor
        apart = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return apart
