"""Hooks on the SceneTest harness of `simpler`, which stays as it is.

What a hook needs is looked up by name when the harness's module is there: at once for a module that is loaded already,
after its import for the others. A name that a version of the harness lacks is told in one warning, and what hangs on
it is not recorded. `uninstall()` puts every original object back.

Under pytest `simpler_setup.scene_test` matches `*_test.py`, so pytest's assertion rewriter loads it past any import
hook; `hook_loaded()` is therefore called again by our pytest plugin and at `Worker.init`, which runs before a case.
"""

from __future__ import annotations

import sys

from opentelemetry.instrumentation.scenetest import faults, standard_library
from opentelemetry.instrumentation.scenetest.harness import imports, wrapping
from opentelemetry.instrumentation.scenetest.record import session
from opentelemetry.instrumentation.scenetest.record.finder import is_initializing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from opentelemetry.instrumentation.scenetest.conditions.values import Value

WORKER = "simpler.worker"
SCENE_TEST = "simpler_setup.scene_test"
SCHEDULER = "simpler_setup.parallel_scheduler"


def is_loaded() -> bool:
    """Tell whether the harness is loaded in this process."""
    return WORKER in sys.modules


def conditions() -> dict[str, Value]:
    """Return the conditions that tell which harness this is."""
    from opentelemetry.instrumentation.scenetest.harness.simpler import build

    return build.facts()


def logs_autoload() -> bool:
    """Tell whether the harness writes the log line on torch's autoload itself."""
    return hasattr(sys.modules.get(SCENE_TEST), "log_torch_backend_autoload_once")


def import_hooks() -> None:
    """Import all that the hooks need, so that a forked child imports nothing."""
    from opentelemetry.instrumentation.scenetest.harness.simpler import build, cases, pytest_items, runner, workers

    _ = build, cases, pytest_items, runner, workers


def start_item(nodeid: str) -> None:
    """Note that a pytest item runs. Hook what pytest has loaded past the import hook."""
    from opentelemetry.instrumentation.scenetest.harness.simpler import pytest_items

    hook_loaded()
    pytest_items.start(nodeid)


def end_item() -> None:
    """End the pytest item that started last, and its case if there is one."""
    from opentelemetry.instrumentation.scenetest.harness.simpler import pytest_items

    pytest_items.end()


def keep_timings(source: str, text: str) -> None:
    """Keep captured output in a log of the run if it holds native timings."""
    from opentelemetry.instrumentation.scenetest.harness.simpler import runner

    runner.keep_timings(source, text)


def install() -> None:
    """Hook the harness's modules: those that are loaded now, the others once they are."""
    imports.install({WORKER: hook, SCENE_TEST: hook, SCHEDULER: hook})
    hook_loaded()


def uninstall() -> None:
    """Take every hook out again."""
    imports.uninstall()
    wrapping.restore()


def hook_loaded() -> None:
    """Hook the modules that were loaded past the import hook."""
    for name in (WORKER, SCENE_TEST, SCHEDULER):
        module = sys.modules.get(name)
        # A module that is still being imported has not defined what is to be hooked.
        if module is not None and not is_initializing(module):
            hook(module)


def hook(module: ModuleType) -> None:
    """Hook one module of the harness, unless it is hooked already."""
    try:
        with standard_library.imports:
            hooks = _hooks_of(module.__name__)
        wrapping.apply(module, hooks)
        session.begin_for_import()
    except Exception as error:
        faults.swallow("hook a module of the harness", error)


def missing_hooks() -> list[str]:
    """Import the harness, and return what its version lacks of what is hooked.

    For `scenetest-otel doctor`: a measured process never imports the harness by itself.
    """
    import importlib

    lacking: list[str] = []
    for name in (WORKER, SCENE_TEST, SCHEDULER):
        try:
            module = importlib.import_module(name)
        except Exception as error:
            lacking.append(f"{name}: {type(error).__name__}: {error}")
            continue
        lacking += [f"{name}.{hook.path}" for hook in _hooks_of(name) if not wrapping.is_there(module, hook)]
    return lacking


def _hooks_of(name: str) -> Sequence[wrapping.Hook]:
    # Imported for a process that has the harness only: most interpreters of a run are not one.
    if name == WORKER:
        from opentelemetry.instrumentation.scenetest.harness.simpler import workers

        return workers.HOOKS
    if name == SCENE_TEST:
        from opentelemetry.instrumentation.scenetest.harness.simpler import cases

        return cases.HOOKS
    from opentelemetry.instrumentation.scenetest.harness.simpler import runner

    return runner.HOOKS
