"""Imports of the standard library in the measured process, which must not meet modules of the program.

A script `random.py` or `json.py` lies beside many a program. With the script's directory first on `sys.path`, an import
of ours would run it. And if we import the standard library's module first, the program does not get its own any more.
So within `with imports:` this thread gets the standard library's modules, and those that the program shadows are
forgotten again at the end: `sys.modules` is then as without us, and our own modules keep what they have imported.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType, TracebackType

_FOLDER = os.path.dirname(getattr(os, "__file__", ""))
"""Empty in a program that holds the standard library frozen. Nothing can shadow that."""

_ENDINGS = (".py", ".pyc", ".so")


class _StandardFinder:
    """Finds modules of the standard library where it is, for one thread at a time in any number of threads."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is not None or fullname not in sys.stdlib_module_names or fullname in sys.builtin_module_names:
            return None
        if get_ident() not in self.threads or not _FOLDER:
            return None
        where = [_FOLDER, *(entry for entry in sys.path if os.path.basename(entry) == "lib-dynload")]
        # By its place in `sys.modules`: `importlib` itself may not be imported yet.
        found: ModuleSpec | None = sys.modules["_frozen_importlib_external"].PathFinder.find_spec(fullname, where)
        if found is None and not os.path.isfile(_FOLDER):
            # Such as `msvcrt` elsewhere than on Windows. Nobody else may find one.
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return found


class _Imports:
    """The context manager `imports`. It can be entered again, by any thread."""

    def __init__(self) -> None:
        self._finder = _StandardFinder()
        self._before: dict[int, frozenset[str]] = {}

    def __enter__(self) -> None:
        self._before.setdefault(get_ident(), frozenset(sys.modules))
        self._finder.threads.append(get_ident())
        if self._finder not in sys.meta_path:
            sys.meta_path.insert(0, self._finder)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._finder.threads.remove(get_ident())
        if get_ident() in self._finder.threads:
            return
        _forget_shadowed(self._before.pop(get_ident()))
        if not self._finder.threads and self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)

    def drop_in_child(self) -> None:
        """Forget the threads of the parent: they are not in a forked child."""
        del self._finder.threads[:]
        self._before.clear()
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)


def _forget_shadowed(before: frozenset[str]) -> None:
    """Take those modules of the standard library out of `sys.modules` again that the program has in its own place."""
    new = sys.modules.keys() - before
    roots = {name.partition(".")[0] for name in new} & sys.stdlib_module_names
    if not roots:
        return
    shadowed = {root for folder in _ahead() for root in _modules_in(folder) if root in roots}
    for name in new if shadowed else ():
        if name.partition(".")[0] in shadowed:
            sys.modules.pop(name, None)


def _modules_in(folder: str) -> list[str]:
    try:
        names = os.listdir(folder or os.curdir)
    except OSError:
        return []
    modules = [name.partition(".")[0] for name in names if name.endswith(_ENDINGS)]
    packages = [
        name
        for name in names
        if name in sys.stdlib_module_names and os.path.isfile(os.path.join(folder, name, "__init__.py"))
    ]
    return [*modules, *packages]


def _ahead() -> list[str]:
    """Return the directories that are searched before the standard library, or will be once the program runs."""
    path = sys.path[: sys.path.index(_FOLDER)] if _FOLDER in sys.path else sys.path[:1]
    first = _first_entry(sys.orig_argv[1:])
    folders = path if first is None or first in path else [first, *path]
    return [folder for folder in folders if os.path.realpath(folder) != os.path.realpath(_FOLDER)]


def _first_entry(arguments: Sequence[str]) -> str | None:
    """Return the directory that Python puts first on `sys.path` for a command line; None if it adds none.

    https://docs.python.org/3/using/cmdline.html: a `.pth` file runs before that is done.
    """
    if sys.flags.isolated or getattr(sys.flags, "safe_path", False):
        return None
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or word == "-":
            return os.curdir if word == "-" else os.path.dirname(os.path.realpath(word)) or os.curdir
        if word.startswith("--"):
            if word == "--check-hash-based-pycs" and rest:
                rest.pop(0)
            continue
        for position, letter in enumerate(word[1:], start=2):
            if letter in "cm":
                return os.curdir
            if letter in "WX":
                if not word[position:] and rest:
                    rest.pop(0)
                break
    return os.curdir


imports = _Imports()
"""Within it an import of the standard library gets the standard library."""

os.register_at_fork(after_in_child=imports.drop_in_child)
