"""Turns what the finder saw into conditions: what torch's backend autoload did in this process.

What was not seen is `unknown`. That no autoload was seen is weaker evidence than the call that proves one. So it counts
as `disabled` only if the variable also says so.
"""

from __future__ import annotations

import os
import sys

from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.conditions.autoload_setting import VARIABLE, enabled_by
from opentelemetry.instrumentation.scenetest.conditions.files import launch_environment
from opentelemetry.instrumentation.scenetest.record.finder import (
    AFTER_LOOP,
    NOT_SEEN,
    WATCHING,
    Finder,
    Import,
    NotSeen,
    is_initializing,
    names_of,
    root_of,
    variable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from importlib.metadata import EntryPoint

    Names = dict[str, object]
    EntryPoints = tuple[EntryPoint, ...]
    Verdict = tuple[str, str | NotSeen | None, str, str]

UNKNOWN = "unknown"
GROUP = "torch.backends"
SWITCH = "_is_device_backend_autoload_enabled"
_MODULES = ("torch.imported", "torch_npu.loaded")
_RULER = ("torch.backends_loaded", "torch.backend_autoload.effective", "torch.backend_autoload.outcome", *_MODULES)


class _Known:
    """What is known besides what the finder saw.

    Attributes:
        launch: the value of the variable when this process was started.
        came_late: whether torch was imported before the finder was installed.
        unfinished: modules whose import was unfinished at the last observation.
        installed: the installed `torch.backends` entry points, once they were read.
        distributions: the distribution name of each entry point. Reading one opens a file.
    """

    def __init__(self) -> None:
        self.launch: str | NotSeen | None = NOT_SEEN
        self.came_late = False
        self.unfinished: list[str] = []
        self.installed: EntryPoints | None = None
        self.distributions: dict[EntryPoint, str] = {}


_finder = Finder()
_known = _Known()


def install(imported: Callable[[], object]) -> None:
    """Put the finder first on `sys.meta_path`, once, and read the variable that this process was started with.

    Args:
        imported: called when an import of torch ends, even if it failed.
    """
    if _finder not in sys.meta_path:
        _finder.imported = imported
        _known.came_late = "torch" in sys.modules
        if isinstance(_known.launch, NotSeen):
            _known.launch = launch_value()
        sys.meta_path.insert(0, _finder)


def is_imported() -> bool:
    """Return whether torch was imported: completely, or until a backend failed."""
    return _complete("torch") is not None or _finder.decided is not None


def launch_value() -> str | NotSeen | None:
    """Return the variable from /proc/self/environ; `NOT_SEEN` if that was overwritten, as `setproctitle` does."""
    environment = launch_environment()
    return NOT_SEEN if environment is None else environment.get(VARIABLE)


def uninstall() -> None:
    """Remove the finder from `sys.meta_path`, and keep what it saw."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


def fingerprint() -> tuple[object, ...]:
    """Return a value that changes whenever the result of `observe` may have changed.

    It leaves out the environment, because reading that takes longer than all the rest. The environment matters only if
    no import of torch was seen; then it is read again when anything else changes.
    """
    npu = sys.modules.get("torch_npu")
    return (
        _finder.events,
        id(sys.modules.get("torch")),
        id(npu),
        npu is not None and _npu_initialized(names_of(npu)),
        [name for name in _known.unfinished if is_initializing(sys.modules.get(name))] if _known.unfinished else None,
    )


def observe() -> dict[str, str | bool | int | float]:
    """Return the current conditions `torch.*` and `torch_npu.*` that apply.

    It doesn't import the two modules or call into them, and never raises. What it can't observe is `unknown`.
    """
    try:
        found = {**_autoload_conditions(), **_npu_conditions()}
        watched = ("torch", "torch_npu", *_finder.backends)
        _known.unfinished = [name for name in watched if is_initializing(sys.modules.get(name))]
        return found
    except Exception as error:
        faults.swallow(WATCHING, error)
        return dict.fromkeys(_RULER, UNKNOWN)


def first_lookup() -> int | None:
    """Return when torch or a backend was first looked up since the last call.

    Returns:
        Monotonic nanoseconds; None if none was looked up.
    """
    first, _finder.first_event = _finder.first_event, None
    return first


def explained_by_import(
    changed: Collection[str], before: Mapping[str, object], after: Mapping[str, object]
) -> Collection[str]:
    """Return the changed conditions that an import alone can explain; none if a module of torch was removed.

    Args:
        changed: the conditions that changed.
        before: all conditions before the change.
        after: all conditions after it.
    """
    from opentelemetry.instrumentation.scenetest.conditions.torch import BACKENDS_LOADED, SETTINGS

    loaded, now_loaded = (set(str(one.get(BACKENDS_LOADED, "")).split(",")) for one in (before, after))
    if loaded - now_loaded - {""} or any(before.get(key) is True and after.get(key) is not True for key in _MODULES):
        return ()
    return [key for key in changed if key.startswith("torch") and not (key in SETTINGS and key in before)]


def _autoload_conditions() -> dict[str, str | bool | int | float]:
    from opentelemetry.instrumentation.scenetest.conditions.logline import SETTING_LIMIT, spell

    torch = _complete("torch")
    if torch is not None and "__version__" not in torch:
        torch = None
    seen = _seen()
    registered = _registered(seen)
    captured, setting, effective, outcome = _verdict(seen, torch, registered)
    found: dict[str, str | bool | int | float] = {
        "torch.backend_autoload.setting": UNKNOWN if isinstance(setting, NotSeen) else spell(setting),
        "torch.backend_autoload.effective": effective,
        "torch.backend_autoload.captured": captured,
        "torch.backend_autoload.outcome": outcome,
        "torch.imported": torch is not None,
    }
    if isinstance(setting, str) and len(setting) > SETTING_LIMIT:
        found["torch.backend_autoload.setting_truncated"] = True
    if registered:
        found["torch.backend_autoload.backends"] = ",".join(dict.fromkeys(map(_distribution, registered)))
    if seen is not None and outcome == "failed":
        failed = _failed(seen, registered)
        if failed is not None:
            found["torch.backend_autoload.failed_backend"] = _distribution(failed)
    if seen is not None and seen.began is not None and seen.ended is not None:
        found["torch.backend_autoload.duration"] = (seen.ended - seen.began) / 1e9
    if torch is not None:
        found["torch.version"] = str(torch["__version__"])
    found["torch.backends_loaded"] = _backends_loaded()
    return found


def _backends_loaded() -> str:
    """Return the distributions of the registered backends that were loaded, by the autoload or by an import."""
    entries = installed()
    if entries is None:
        return UNKNOWN
    found = {entry: _is_loaded(entry.module) for entry in entries}
    if UNKNOWN in found.values():
        return UNKNOWN
    return ",".join(sorted({_distribution(entry) for entry in entries if found[entry] is True}))


def _is_loaded(backend: str) -> bool | str:
    """Return whether the import of a backend succeeded, even if it was removed from `sys.modules` later.

    Returns:
        True, False or `unknown`.
    """
    if _complete(backend) is not None or backend in _finder.loaded:
        return True
    is_gone = backend not in sys.modules and root_of(backend) not in sys.modules
    return UNKNOWN if is_gone and root_of(backend) in _finder.begun else False


def _npu_conditions() -> dict[str, str | bool | int | float]:
    npu = _complete("torch_npu")
    if npu is None:
        registered = any(entry.module == "torch_npu" for entry in installed() or ())
        loaded = _is_loaded("torch_npu") if registered else "torch_npu" in _finder.loaded
        by = {"torch_npu.loaded_by": _finder.npu_by} if loaded else {}
        return {"torch_npu.loaded": loaded, **by}
    initialized = _npu_initialized(npu)
    return {
        "torch_npu.loaded": True,
        "torch_npu.version": str(npu.get("__version__", UNKNOWN)),
        "torch_npu.loaded_by": _finder.npu_by,
        "torch_npu.initialized": initialized if isinstance(initialized, bool) else UNKNOWN,
    }


def _seen() -> Import | None:
    """Return the import to report: that of the present torch, else the last one that reached the backends."""
    module = sys.modules.get("torch")
    seen = _finder.decided if module is None else _finder.current
    if seen is not None:
        seen.settle()
    return seen if seen is not None and (module is None or seen.is_of(module)) else None


def _verdict(seen: Import | None, torch: Names | None, registered: EntryPoints | None) -> Verdict:
    """Return the conditions `captured`, `setting`, `effective` and `outcome` of `torch.backend_autoload`."""
    if seen is None:
        return _unobserved(torch, registered)
    if "torch" not in sys.modules:
        return "at_import", _proven(seen), "enabled", _outcome_without_torch(seen, registered)
    if seen.began is not None:
        return "at_import", _proven(seen), "enabled", UNKNOWN if torch is None else _outcome(registered)
    if torch is None:
        return "at_import", NOT_SEEN, UNKNOWN, UNKNOWN
    setting = seen.setting if seen.steady else NOT_SEEN
    if SWITCH not in torch:
        return "at_import", setting, "unsupported", "disabled"
    # Without a call, `disabled` is proven only if the finder was installed until after the place of the call.
    listened = _finder in sys.meta_path and (AFTER_LOOP not in sys.modules or seen.ended is not None)
    if listened and not enabled_by(seen.setting):
        return "at_import", setting, "disabled", "disabled"
    return "at_import", NOT_SEEN, UNKNOWN, UNKNOWN


def _proven(seen: Import) -> str | NotSeen | None:
    """Return the setting of an import that loaded its backends. Ignore a contradicting value."""
    return seen.setting if seen.steady and enabled_by(seen.setting) else NOT_SEEN


def _outcome(registered: EntryPoints | None) -> str:
    """Return the outcome of an enabled autoload if the import of torch succeeded, so that no backend failed."""
    if registered is None:
        return UNKNOWN
    return "loaded" if registered else "no_backend"


def _outcome_without_torch(seen: Import, registered: EntryPoints | None) -> str:
    """Return the outcome of an enabled autoload if torch was removed from `sys.modules` afterwards."""
    if not seen.failed or registered == ():
        # No backend was registered, or torch had already loaded them all.
        return "torch_not_imported"
    if registered and registered[-1].module in sys.modules and "TORCH_LOGS" in os.environ:
        # All backends may have loaded: torch reads TORCH_LOGS next, and fails if its value is invalid.
        return UNKNOWN
    return "failed"


def _unobserved(torch: Names | None, registered: EntryPoints | None) -> Verdict:
    """Return the verdict if no import was seen.

    It is known only if the variable at launch, the variable now and the loaded modules agree.
    """
    present = variable()
    agreed = present == _known.launch
    setting = present if agreed else NOT_SEEN
    effective = ("enabled" if enabled_by(present) else "disabled") if agreed else UNKNOWN
    if "torch" not in sys.modules:
        return "at_dispatch", setting, effective, "torch_not_imported"
    if torch is not None and SWITCH not in torch and _known.came_late:
        return "at_launch", setting, "unsupported", "disabled"
    # Without a registered backend, no module could contradict the variable.
    if torch is not None and registered is not None and (registered or _known.came_late):
        loaded = [entry.module in sys.modules for entry in registered]
        if effective == "enabled" and all(loaded):
            return "at_launch", setting, effective, _outcome(registered)
        if effective == "disabled" and not any(loaded):
            return "at_launch", setting, effective, "disabled"
    return "at_launch", NOT_SEEN, UNKNOWN, UNKNOWN


def _failed(seen: Import, registered: EntryPoints | None) -> EntryPoint | None:
    """Return the entry point that failed, if that is certain.

    A backend whose module was already imported is loaded without a lookup. So it may be the one that failed, after the
    last one that was seen.
    """
    if not registered:
        return None
    if seen.position is None:
        return registered[0] if len(registered) == 1 else None
    last, after = registered[seen.position], registered[seen.position + 1 : seen.position + 2]
    silent = last.module in sys.modules and any(entry.module in sys.modules for entry in after)
    return None if silent else last


def _registered(seen: Import | None) -> EntryPoints | None:
    """Return the `torch.backends` entry points: torch's own list if it was seen, else the installed ones."""
    return seen.registered if seen is not None and seen.registered is not None else installed()


def installed() -> EntryPoints | None:
    """Return the installed `torch.backends` entry points, read once; None if they can't be read."""
    if _known.installed is None:
        from importlib.metadata import entry_points

        try:
            _known.installed = tuple(entry_points(group=GROUP))
            _finder.backends = frozenset(entry.module for entry in _known.installed) - {"torch", "torch_npu"}
        except Exception as error:
            faults.swallow(WATCHING, error)
    return _known.installed


def _distribution(entry: EntryPoint) -> str:
    name = _known.distributions.get(entry)
    if name is None:
        name = entry.name if entry.dist is None else entry.dist.metadata["Name"]
        _known.distributions[entry] = name
    return name


def _complete(name: str) -> Names | None:
    """Return the namespace of a module; None if its import hasn't finished."""
    module = sys.modules.get(name)
    return None if module is None or is_initializing(module) else names_of(module)


def _npu_initialized(npu: Names) -> object:
    """Return `torch_npu.npu._initialized` without calling anything; None if there is none."""
    module = npu.get("npu")
    return None if module is None else names_of(module).get("_initialized")
