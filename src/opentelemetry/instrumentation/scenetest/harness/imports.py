"""Calls a function after the import of a module. The finder ignores all other modules."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


class _HookingFinder:
    """Asks the other finders for a module in `callbacks`, and lets a `_Loader` load it."""

    def __init__(self) -> None:
        self.callbacks: dict[str, Callable[[ModuleType], None]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        callback = self.callbacks.get(fullname)
        if callback is None:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, callback)  # type: ignore[assignment]
                return spec
        return None


class _Loader:
    """Loads a module with its own loader, restores that loader on the module, then calls the callback."""

    def __init__(self, loader: Any, callback: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._callback = callback

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        if module.__name__ in _finder.callbacks:
            self._callback(module)


_finder = _HookingFinder()


def install(callbacks: Mapping[str, Callable[[ModuleType], None]]) -> None:
    """Call a function with each of these modules after its import.

    Args:
        callbacks: the function to call, by the name of the module.
    """
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)  # type: ignore[arg-type]
    _finder.callbacks.update(callbacks)


def uninstall() -> None:
    """Remove the finder."""
    _finder.callbacks.clear()
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)  # type: ignore[arg-type]
