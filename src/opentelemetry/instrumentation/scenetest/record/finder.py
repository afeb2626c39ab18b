"""Observes an import of torch without patching it: a finder on `sys.meta_path` that never finds anything.

Near the end of its `__init__.py`, torch (>= 2.5) calls `_import_device_backends()` if
`_is_device_backend_autoload_enabled()` returns true. Calling the second function later gives no answer: it reads the
environment again, and `torch_npu` changes that during its import. The finder sees everything that is needed:

- A lookup of `torch` while it isn't loaded begins an import, or is only a probe (`importlib.util.find_spec`). Lookups
  of its submodules prove that it is an import. At each of them the variable is read, until torch decides.
- A call of `find_distributions` from `_import_device_backends` proves that autoload is enabled, and gives its start.
- A backend that is looked up while that function is on the stack is loaded by it. The function's local variables hold
  the entry point.
- The lookup of `torch._native`, the next import in `torch/__init__.py` since 2.12.1, gives the end.
- importlib sets `_initializing` on the spec of a module when its import ends. If the import failed, the module is no
  longer in `sys.modules`.

This module is loaded when any interpreter of a run starts, so it imports only modules that are already loaded.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib import ModuleSpec
from _weakref import ref

from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.clock import monotonic_ns
from opentelemetry.instrumentation.scenetest.conditions.autoload_setting import VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.metadata import DistributionFinder, EntryPoint
    from types import FrameType, ModuleType

LOOP = "_import_device_backends"
AFTER_LOOP = "torch._native"
WATCHING = "observe what torch's backend autoload does"


class NotSeen:
    """Marks a value of the variable that was not seen. None means that the variable was unset."""


NOT_SEEN = NotSeen()


class Import:
    """What was seen of one import of torch.

    Attributes:
        setting: the variable at the last lookup before torch decided; None if it was unset.
        steady: false once two lookups of this import read different values.
        module: the torch module; None as long as this may be only a probe.
        began: when `_import_device_backends` read the entry points, in monotonic ns; None if it didn't.
        ended: when the next import after it was seen, in monotonic ns; None if none was.
        open: whether torch may still be loading backends.
        failed: whether torch was removed from `sys.modules` when this ended.
        registered: the entry points that torch loads, in its order; None until one was seen loading.
        roots: the top-level packages of `registered`.
        position: index in `registered` of the entry point that was last seen loading.
    """

    __slots__ = ("began", "ended", "failed", "module", "open", "position", "registered", "roots", "setting", "steady")

    def __init__(self, setting: str | None) -> None:
        self.setting = setting
        self.steady = True
        self.module: ref[ModuleType] | None = None
        self.began: int | None = None
        self.ended: int | None = None
        self.open = False
        self.failed = False
        self.registered: tuple[EntryPoint, ...] | None = None
        self.roots: frozenset[str] = frozenset()
        self.position: int | None = None

    def is_of(self, torch: ModuleType | None) -> bool:
        """Return whether this import created this module."""
        return self.module is not None and torch is not None and self.module() is torch

    def note(self, setting: str | None) -> None:
        """Keep a later value of the variable."""
        self.steady = self.steady and setting == self.setting
        self.setting = setting

    def begin(self, setting: str | None) -> None:
        """Note that torch reads its backends: it has just found that the variable enables the autoload."""
        self.note(setting)
        self.began = monotonic_ns()
        self.open = True

    def end(self) -> None:
        """Note that torch has loaded its backends and goes on with its next import."""
        self.ended = monotonic_ns()
        self.open = False

    def settle(self) -> None:
        """Update `open` and `failed`: the import of torch may have ended since the last event."""
        torch = sys.modules.get("torch")
        if self.open and not (self.is_of(torch) and is_initializing(torch)):
            self.open = False
            self.failed = not self.is_of(torch)

    def look(self, loop: FrameType) -> None:
        """Read from the running `_import_device_backends` which entry point it is loading."""
        names = loop.f_locals
        loading = names.get("backend_extension")
        if loading is None:
            return
        if self.registered is None:
            self.registered = tuple(names["backend_extensions"])
            self.roots = frozenset(root_of(entry.module) for entry in self.registered)
        self.position = next(i for i, entry in enumerate(self.registered) if entry is loading)

    def is_loading(self, module: str) -> bool:
        """Return whether this is the module of the entry point that was last seen loading."""
        if self.registered is None or self.position is None:
            return False
        return self.registered[self.position].module == module


class Finder:
    """Finds nothing, and remembers what was looked up.

    Attributes:
        current: the last import of torch that was more than a probe.
        decided: the last import in which torch read its backends. A later import may fail before that.
        npu_by: what last looked up `torch_npu`: `autoload` or `import`; `unknown` if nothing did.
        events: number of events that may change the result of `autoload.observe`.
        first_event: when the first event since `autoload.first_lookup` happened, in monotonic ns.
        backends: modules of the installed `torch.backends` entry points, once they are known.
        imported: called when an import of torch ends, even if it failed.
        loaded: backends whose import is known to have succeeded, even if they were removed from `sys.modules` later.
        begun: top-level packages whose import began outside `_import_device_backends` and isn't known to have failed.
            If such a package is absent, its import failed or it was removed from `sys.modules`.
    """

    def __init__(self) -> None:
        self.current: Import | None = None
        self.decided: Import | None = None
        self.npu_by = "unknown"
        self.events = 0
        self.first_event: int | None = None
        self.backends: frozenset[str] = frozenset()
        self.imported: Callable[[], object] = int
        self.loaded: set[str] = set()
        self.begun: set[str] = set()
        self._pending: Import | None = None
        self._awaited: set[str] = set()
        """Backends whose import began, but whose module was not yet seen in `sys.modules`."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Note the lookup."""
        try:
            root = root_of(fullname)
            if self._awaited:
                self._meet_awaited()
            if root == "torch":
                self._look_up_torch(fullname)
            elif target is None and (fullname == root or fullname in self.backends):
                self._look_up_other(fullname, root)
            if self.current is not None and self.current.open:
                self._look_up_backend(self.current, fullname, root)
        except Exception as error:
            faults.swallow(WATCHING, error)

    def find_distributions(self, context: DistributionFinder.Context | None = None) -> tuple[()]:
        """Note the call if it comes from `_import_device_backends`."""
        try:
            if _running_loop() is not None:
                seen = self._import_of(sys.modules["torch"])
                if seen.began is None:
                    self._happened()
                    seen.begin(variable())
                    self.decided = seen
        except Exception as error:
            faults.swallow(WATCHING, error)
        return ()

    def _happened(self) -> None:
        self.events += 1
        if self.first_event is None:
            self.first_event = monotonic_ns()

    def _look_up_torch(self, fullname: str) -> None:
        torch = sys.modules.get("torch")
        if fullname == "torch":
            self._happened()
            if torch is None:
                self._pending = Import(variable())
        elif torch is not None and is_initializing(torch):
            seen = self._import_of(torch)
            if fullname == AFTER_LOOP and _running_loop() is None:
                self._happened()
                seen.end()
            elif seen.began is None and seen.ended is None:
                seen.note(variable())

    def _import_of(self, torch: ModuleType) -> Import:
        """Return the import that creates this torch module. The first call for it begins a new one."""
        if self.current is None or not self.current.is_of(torch):
            self.current = self._pending or Import(variable())
            self.current.module = ref(torch)
            self._pending = None
            _at_end_of_import(torch, lambda: self.imported())
        return self.current

    def _look_up_other(self, fullname: str, root: str) -> None:
        is_backend = fullname == "torch_npu" or fullname in self.backends
        is_autoload = (is_backend or (self.current is not None and self.current.open)) and _running_loop() is not None
        if is_backend:
            self._happened()
            self._awaited.add(fullname)
        if fullname == "torch_npu":
            self.npu_by = "autoload" if is_autoload else "import"
        if not is_autoload and not _is_probe():
            self.begun.add(root)

    def _look_up_backend(self, seen: Import, fullname: str, root: str) -> None:
        seen.settle()
        if seen.open and (seen.registered is None or root in seen.roots):
            loop = _running_loop()
            if loop is not None:
                seen.look(loop)
                if seen.is_loading(fullname):
                    self._awaited.add(fullname)

    def _meet_awaited(self) -> None:
        """Find the awaited backends that are now in `sys.modules`, and follow their imports to the end.

        Most backends import other modules, so this usually runs while they are still being imported.
        """
        for name in list(self._awaited):
            module = sys.modules.get(name)
            if module is not None:
                self._awaited.discard(name)
                if not _at_end_of_import(module, lambda name=name: self._ended(name)):
                    self._ended(name)

    def _ended(self, name: str) -> None:
        """Note how the import of a backend ended."""
        if name in sys.modules:
            self.loaded.add(name)
        else:
            self.begun.discard(root_of(name))


def _at_end_of_import(module: ModuleType, call: Callable[[], object]) -> bool:
    """Call a function when the import of a module ends.

    Returns:
        Whether the import is still running; if not, the function is never called.
    """
    if not is_initializing(module):
        return False
    if type(module.__spec__) is ModuleSpec:
        module.__spec__.__class__ = _importing(call)
    return True


def _importing(ended: Callable[[], object]) -> type[ModuleSpec]:
    """Return a class for a module's spec that calls a function when the import ends, and then becomes `ModuleSpec`."""

    class Importing(ModuleSpec):
        @property
        def _initializing(self) -> bool:
            return vars(self)["_initializing"]

        @_initializing.setter
        def _initializing(self, value: bool) -> None:
            object.__setattr__(self, "__class__", ModuleSpec)
            vars(self)["_initializing"] = value
            if not value:
                ended()

    return Importing


def variable() -> str | None:
    """Return the current value of the variable; None if it is unset."""
    # Not os.getenv: torch_npu replaces that function.
    return os.environ.get(VARIABLE)


def root_of(fullname: str) -> str:
    """Return the top-level package of a module."""
    return fullname.partition(".")[0]


def names_of(module: object) -> dict[str, object]:
    """Return the namespace of a module; empty for an object in `sys.modules` that has none.

    Reading an attribute the usual way would make a lazy module load itself.
    """
    try:
        return object.__getattribute__(module, "__dict__")
    except AttributeError:
        return {}


def is_initializing(module: ModuleType | None) -> bool:
    """Return whether any thread is still importing this module."""
    return module is not None and getattr(names_of(module).get("__spec__"), "_initializing", False)


def _is_probe() -> bool:
    """Return whether the lookup comes from `importlib.util.find_spec`, which imports nothing.

    Only a method that `Finder.find_spec` calls may call this: it starts two frames up.
    """
    asks: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while asks is not None and asks.f_globals is globals():
        asks = asks.f_back
    caller = asks.f_back if asks is not None else None
    return caller is not None and caller.f_globals.get("__name__") == "importlib.util"


def _running_loop() -> FrameType | None:
    """Return the frame of `_import_device_backends` if this thread runs it as part of an import of torch."""
    frame: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if frame.f_code.co_name == LOOP and frame.f_globals.get("__name__") == "torch":
            caller = frame.f_back
            if caller is not None and caller.f_code.co_name == "<module>" and caller.f_globals is frame.f_globals:
                return frame
            return None
        frame = frame.f_back
    return None
