"""Hooks on `simpler_setup.scene_test`: each `_run_and_validate` is a case, and its other steps are phases."""

from __future__ import annotations

import inspect
from functools import wraps

from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.conditions.values import UNKNOWN
from opentelemetry.instrumentation.scenetest.harness.simpler import facts
from opentelemetry.instrumentation.scenetest.harness.wrapping import Hook
from opentelemetry.instrumentation.scenetest.record import recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from opentelemetry.instrumentation.scenetest.harness.wrapping import Function

_PHASES = {"generate_args": "args", "compute_golden": "golden", "compare_outputs": "compare"}
"""Every subclass overrides these methods, so only the instance can be hooked."""


def _case(original: Function) -> Function:
    signature = inspect.signature(original)

    @wraps(original)
    def run_and_validate(self: Any, *args: Any, **keywords: Any) -> Any:
        suite, name = type(self).__name__, UNKNOWN
        attributes: dict[str, Any] = {}
        try:
            bound = signature.bind(self, *args, **keywords)
            bound.apply_defaults()
            name = str(bound.arguments["case"]["name"])
            attributes.update(facts.of_case(self, bound.arguments))
        except Exception as error:
            faults.swallow("tell what a case is run with", error)
        with recorder.case(suite, name, **attributes), _Phases(self):
            return original(self, *args, **keywords)

    return run_and_validate


class _Phases:
    """Shadows the methods of `_PHASES` on a scene while it runs a case."""

    def __init__(self, scene: Any) -> None:
        self._names: Mapping[str, Any] = vars(scene)
        self._scene = scene
        self._shadowed: list[str] = []

    def __enter__(self) -> None:
        try:
            for method, phase in _PHASES.items():
                if method not in self._names and hasattr(self._scene, method):
                    setattr(self._scene, method, recorder.phase(phase)(getattr(self._scene, method)))
                    self._shadowed.append(method)
        except Exception as error:
            faults.swallow("record the phases of a case", error)

    def __exit__(self, *_: object) -> None:
        for method in self._shadowed:
            if method in self._names:
                delattr(self._scene, method)


def _phase(name: str) -> Any:
    def wrap(original: Function) -> Function:
        @wraps(original)
        def recorded(*args: Any, **keywords: Any) -> Any:
            if recorder.current() is None:
                return original(*args, **keywords)
            with recorder.phase(name):
                return original(*args, **keywords)

        return recorded

    return wrap


HOOKS = (
    Hook("SceneTestCase._run_and_validate", _case, "which case a dispatch belongs to"),
    Hook("_build_l2_ref_args", _phase("args"), "a part of phase args"),
    Hook("_RehostedTaskArgs.__init__", _phase("rehost"), "phase rehost"),
)
