"""Hooks on the SceneTest harness of `simpler`, which stays as it is.

What a hook needs is looked up by name when the harness's module is there: at once for a module that is loaded already,
after its import for the others. A name that a version of the harness lacks is told in one warning, and what hangs on
it is not recorded. `uninstall()` puts every original object back.

Under pytest `simpler_setup.scene_test` matches `*_test.py`, so pytest's assertion rewriter loads it past any import
hook; `hook_loaded()` is therefore called again by our pytest plugin and at `Worker.init`, which runs before a case.
"""

from __future__ import annotations

import sys

from opentelemetry.instrumentation.scenetest.record import faults
from opentelemetry.instrumentation.scenetest.record.finder import is_initializing
from opentelemetry.instrumentation.scenetest.record.simpler import imports, patches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

WORKER = "simpler.worker"
SCENE_TEST = "simpler_setup.scene_test"
SCHEDULER = "simpler_setup.parallel_scheduler"


def install() -> None:
    """Hook the harness's modules: those that are loaded now, the others once they are."""
    imports.install({WORKER: hook, SCENE_TEST: hook, SCHEDULER: hook})
    hook_loaded()


def uninstall() -> None:
    """Take every hook out again."""
    imports.uninstall()
    patches.restore()


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
        patches.apply(module, _hooks_of(module.__name__))
    except Exception as error:
        faults.swallow("hook a module of the harness", error)


def _hooks_of(name: str) -> Sequence[patches.Hook]:
    # Imported for a process that has the harness only: most interpreters of a run are not one.
    if name == WORKER:
        from opentelemetry.instrumentation.scenetest.record.simpler import workers

        return workers.HOOKS
    if name == SCENE_TEST:
        from opentelemetry.instrumentation.scenetest.record.simpler import cases

        return cases.HOOKS
    from opentelemetry.instrumentation.scenetest.record.simpler import runner

    return runner.HOOKS
