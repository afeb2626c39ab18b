"""What torch's backend autoload did in this process: what the finder saw, as conditions.

What was seen is said; what was not is `unknown`. Silence is weaker evidence than the call that proves an autoload: it
counts as `disabled` only where the noted variable says the same.
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
    """What is known beside what the finder saw.

    Attributes:
        launch: the variable as this process was launched with it.
        came_late: whether torch was there before the finder. How a torch came later that it did not see, nobody knows.
        unfinished: modules that were half imported at the last look.
        installed: the `torch.backends` entry points, once they are read.
        distributions: their names, each read from a file.
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
    """Put the finder first on `sys.meta_path`, once, and note the variable as this process was launched with it.

    Args:
        imported: called when an import of torch is over, even a failed one.
    """
    if _finder not in sys.meta_path:
        _finder.imported = imported
        _known.came_late = "torch" in sys.modules
        if isinstance(_known.launch, NotSeen):
            _known.launch = launch_value()
        sys.meta_path.insert(0, _finder)


def is_imported() -> bool:
    """Tell whether torch was imported, completely or up to a failure of a backend."""
    return _complete("torch") is not None or _finder.decided is not None


def launch_value() -> str | NotSeen | None:
    """Return the variable from /proc/self/environ, unless that was overwritten, as `setproctitle` does."""
    environment = launch_environment()
    return NOT_SEEN if environment is None else environment.get(VARIABLE)


def uninstall() -> None:
    """Take the finder off `sys.meta_path`; what it saw stays known."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


def fingerprint() -> tuple[object, ...]:
    """Return a value that changes whenever `observe` may give something else.

    The environment is not part of it, since reading it costs more than all the rest: it counts only where nothing of
    torch was observed, and is read again there when anything else has changed.
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
    """Return the conditions `torch.*` and `torch_npu.*` as they are now, those that apply.

    It imports neither module, asks nothing of them, and does not raise: what it fails at is unknown.
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
    """Return when torch or a backend was first looked up since the last call, monotonic ns; None if none was."""
    first, _finder.first_event = _finder.first_event, None
    return first


def explained_by_import(
    changed: Collection[str], before: Mapping[str, object], after: Mapping[str, object]
) -> Collection[str]:
    """Return those of these conditions that an import alone can have changed: none if something of torch went away.

    Args:
        changed: the conditions that changed.
        before: all conditions before.
        after: all conditions after.
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
    """Return the distributions of the registered backends that were loaded, by whatever way."""
    entries = installed()
    if entries is None:
        return UNKNOWN
    found = {entry: _is_loaded(entry.module) for entry in entries}
    if UNKNOWN in found.values():
        return UNKNOWN
    return ",".join(sorted({_distribution(entry) for entry in entries if found[entry] is True}))


def _is_loaded(backend: str) -> bool | str:
    """Tell whether the module of a backend was imported to its end. It may be gone from `sys.modules` since."""
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
    """Return what was seen of the import that counts: of the torch that is there, else the last that got far enough."""
    module = sys.modules.get("torch")
    seen = _finder.decided if module is None else _finder.current
    if seen is not None:
        seen.settle()
    return seen if seen is not None and (module is None or seen.is_of(module)) else None


def _verdict(seen: Import | None, torch: Names | None, registered: EntryPoints | None) -> Verdict:
    """Return captured, setting, effective and outcome."""
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
    # Was the finder there to the end?
    listened = _finder in sys.meta_path and (AFTER_LOOP not in sys.modules or seen.ended is not None)
    if listened and not enabled_by(seen.setting):
        return "at_import", setting, "disabled", "disabled"
    return "at_import", NOT_SEEN, UNKNOWN, UNKNOWN


def _proven(seen: Import) -> str | NotSeen | None:
    """Return the setting of an import that did go through its backends; a note that contradicts this is void."""
    return seen.setting if seen.steady and enabled_by(seen.setting) else NOT_SEEN


def _outcome(registered: EntryPoints | None) -> str:
    """Return what an enabled autoload came to in a torch that is complete: the loop stops at the first failure."""
    if registered is None:
        return UNKNOWN
    return "loaded" if registered else "no_backend"


def _outcome_without_torch(seen: Import, registered: EntryPoints | None) -> str:
    """Return what an enabled autoload came to where torch was gone afterwards."""
    if not seen.failed or registered == ():
        # There was no backend to fail, or torch had got past them.
        return "torch_not_imported"
    if registered and registered[-1].module in sys.modules and "TORCH_LOGS" in os.environ:
        # All of them may have loaded: torch reads this variable next, and fails at a value that it does not know.
        return UNKNOWN
    return "failed"


def _unobserved(torch: Names | None, registered: EntryPoints | None) -> Verdict:
    """Return the verdict where no import was seen: what launch, present and modules agree on, if they do."""
    present = variable()
    agreed = present == _known.launch
    setting = present if agreed else NOT_SEEN
    effective = ("enabled" if enabled_by(present) else "disabled") if agreed else UNKNOWN
    if "torch" not in sys.modules:
        return "at_dispatch", setting, effective, "torch_not_imported"
    if torch is not None and SWITCH not in torch and _known.came_late:
        return "at_launch", setting, "unsupported", "disabled"
    # With no backend there is no module that could contradict.
    if torch is not None and registered is not None and (registered or _known.came_late):
        loaded = [entry.module in sys.modules for entry in registered]
        if effective == "enabled" and all(loaded):
            return "at_launch", setting, effective, _outcome(registered)
        if effective == "disabled" and not any(loaded):
            return "at_launch", setting, effective, "disabled"
    return "at_launch", NOT_SEEN, UNKNOWN, UNKNOWN


def _failed(seen: Import, registered: EntryPoints | None) -> EntryPoint | None:
    """Return the entry point at which the loop stopped, if that is certain.

    One whose module was there already runs without a lookup, so it may have failed after the last one that was seen.
    """
    if not registered:
        return None
    if seen.position is None:
        return registered[0] if len(registered) == 1 else None
    last, after = registered[seen.position], registered[seen.position + 1 : seen.position + 2]
    silent = last.module in sys.modules and any(entry.module in sys.modules for entry in after)
    return None if silent else last


def _registered(seen: Import | None) -> EntryPoints | None:
    """Return the `torch.backends` entry points: torch's own list where it was seen, else what is installed."""
    return seen.registered if seen is not None and seen.registered is not None else installed()


def installed() -> EntryPoints | None:
    """Return the `torch.backends` entry points that are installed, read once; None where they can't be read."""
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
    """Return the namespace of a module that has been imported to its end."""
    module = sys.modules.get(name)
    return None if module is None or is_initializing(module) else names_of(module)


def _npu_initialized(npu: Names) -> object:
    """Return `torch_npu.npu._initialized`, None where there is none; nothing is called."""
    module = npu.get("npu")
    return None if module is None else names_of(module).get("_initialized")
