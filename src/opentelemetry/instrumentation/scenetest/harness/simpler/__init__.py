"""Hooks on the SceneTest harness of `simpler`. The harness itself is not changed.

A hook finds its function by name: at once if the module is loaded, else after its import. If a version of the harness
lacks a name, one warning says so, and what the hook would record is missing. `uninstall()` restores the originals.

Under pytest, `simpler_setup.scene_test` matches `*_test.py`. So pytest's assertion rewriter loads it, and our finder
does not see it. That is why our pytest plugin and the hook on `Worker.init`, which runs before a case, call
`hook_loaded()` again.
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
    """Tell whether the harness itself writes the log line about torch's autoload."""
    return hasattr(sys.modules.get(SCENE_TEST), "log_torch_backend_autoload_once")


def import_hooks() -> None:
    """Import all that the hooks need, so that a forked child imports nothing."""
    from opentelemetry.instrumentation.scenetest.harness.simpler import build, cases, pytest_items, runner, workers

    _ = build, cases, pytest_items, runner, workers


def start_item(nodeid: str) -> None:
    """Note that a pytest item runs. Hook the modules that pytest has loaded without our finder."""
    from opentelemetry.instrumentation.scenetest.harness.simpler import pytest_items

    hook_loaded()
    pytest_items.start(nodeid)


def end_item() -> None:
    """End the pytest item that started last, and its case if it has one."""
    from opentelemetry.instrumentation.scenetest.harness.simpler import pytest_items

    pytest_items.end()


def keep_timings(source: str, text: str) -> None:
    """Keep captured output in a log of the run if it holds native timings."""
    from opentelemetry.instrumentation.scenetest.harness.simpler import runner

    runner.keep_timings(source, text)


def install() -> None:
    """Hook the harness's modules: loaded modules at once, the others after their import."""
    imports.install({WORKER: hook, SCENE_TEST: hook, SCHEDULER: hook})
    hook_loaded()


def uninstall() -> None:
    """Remove every hook."""
    imports.uninstall()
    wrapping.restore()


def hook_loaded() -> None:
    """Hook the modules that were loaded without our finder."""
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
    """Import the harness, and return the hooked names that its version lacks.

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
    # Imported only in a process that has the harness: most interpreters of a run do not.
    if name == WORKER:
        from opentelemetry.instrumentation.scenetest.harness.simpler import workers

        return workers.HOOKS
    if name == SCENE_TEST:
        from opentelemetry.instrumentation.scenetest.harness.simpler import cases

        return cases.HOOKS
    from opentelemetry.instrumentation.scenetest.harness.simpler import runner

    return runner.HOOKS
