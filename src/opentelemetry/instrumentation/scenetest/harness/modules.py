"""Hooks the modules of a benchmark or test library: loaded modules at once, the others after their import."""

from __future__ import annotations

import sys

from opentelemetry.instrumentation.scenetest import faults, standard_library
from opentelemetry.instrumentation.scenetest.harness import imports, wrapping
from opentelemetry.instrumentation.scenetest.record.finder import is_initializing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    HooksOf = Callable[[], Mapping[str, Sequence[wrapping.Hook]]]


class Library:
    """A library whose modules are hooked.

    Args:
        modules: their names.
        hooks: returns the hooks of each module. Called only in a process that imports the library.
    """

    def __init__(self, modules: Sequence[str], hooks: HooksOf) -> None:
        self._modules, self._hooks = modules, hooks

    def install(self) -> None:
        """Hook its modules: loaded modules at once, the others after their import."""
        imports.install(dict.fromkeys(self._modules, self._hook))
        self.hook_loaded()

    def hook_loaded(self) -> None:
        """Hook the modules that were loaded without our finder."""
        for name in self._modules:
            module = sys.modules.get(name)
            # A module that is still being imported has not defined what is to be hooked.
            if module is not None and not is_initializing(module):
                self._hook(module)

    def _hook(self, module: ModuleType) -> None:
        try:
            with standard_library.imports:
                hooks = self._hooks()
            wrapping.apply(module, hooks[module.__name__])
        except Exception as error:
            faults.swallow("hook a module of a benchmark or test library", error)
