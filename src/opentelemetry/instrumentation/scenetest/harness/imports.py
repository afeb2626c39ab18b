"""Calls back after the import of a module, by a finder that stands aside for all others."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


class _Finder:
    """Lets the other finders find the watched modules, and has them loaded by a `_Loader`."""

    def __init__(self) -> None:
        self.watched: dict[str, Callable[[ModuleType], None]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        loaded = self.watched.get(fullname)
        if loaded is None:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, loaded)  # type: ignore[assignment]
                return spec
        return None


class _Loader:
    """Loads a module as its own loader does, gives it that loader back, and then calls back."""

    def __init__(self, loader: Any, loaded: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._loaded = loaded

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        if module.__name__ in _finder.watched:
            self._loaded(module)


_finder = _Finder()


def install(watched: Mapping[str, Callable[[ModuleType], None]]) -> None:
    """Call back with each of these modules after its import.

    Args:
        watched: what to call, by the name of the module.
    """
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)  # type: ignore[arg-type]
    _finder.watched.update(watched)


def uninstall() -> None:
    """Take the finder out again."""
    _finder.watched.clear()
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)  # type: ignore[arg-type]
