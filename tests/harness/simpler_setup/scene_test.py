"""SceneTestCase: a class declares what to compile and how to run it; this runs and validates it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, ClassVar

from simpler.task_interface import CallConfig, ChipCallable, RuntimeEnv

from .task_args import TaskArgsBuilder, TensorArg, _build_l2_ref_args, _RehostedTaskArgs

__all__ = ["SceneTestCase", "TaskArgsBuilder", "TensorArg", "run_class_cases", "scene_test"]

_DIAGNOSTICS = ("enable_chip_swimlane", "dump_args", "enable_pmu", "enable_dep_gen", "enable_scope_stats")


@contextmanager
def _temporary_env(env_updates: dict[str, str]) -> Generator[None]:
    old = {key: os.environ.get(key) for key in env_updates}
    os.environ.update(env_updates)
    try:
        yield
    finally:
        for key, value in old.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def scene_test(level: int, runtime: str) -> Callable[[Any], Any]:
    def decorator(target: Any) -> Any:
        target._st_level = level
        target._st_runtime = runtime
        return target

    return decorator


def is_selected(case: dict[str, Any], platform: str, manual_mode: str) -> bool:
    manual = bool(case.get("manual", False))
    return platform in case["platforms"] and (manual_mode == "include" or manual == (manual_mode == "only"))


def effective_diagnostics(rounds: int, given: dict[str, int]) -> dict[str, int]:
    """Diagnostics are off when a case runs more than once."""
    return dict.fromkeys(given, 0) if rounds > 1 else given


def compile_chip_callable(entry: dict[str, Any]) -> ChipCallable:
    orchestration = entry["orchestration"]
    return ChipCallable(orchestration["kernel"].__name__, orchestration["kernel"], orchestration["signature"])


def run_class_cases(
    worker: Any,
    cls_inst: SceneTestCase,
    cases: list[dict[str, Any]],
    *,
    callable_obj: Any,
    sub_handles: dict[str, Any],
    rounds: int,
    skip_golden: bool,
    enable_chip_swimlane: int,
    enable_dump_args: int,
    enable_pmu: int,
    enable_dep_gen: bool,
    enable_scope_stats: bool,
    enable_swimlane_overhead: bool = False,
) -> None:
    for case in cases:
        cls_inst._run_and_validate(
            worker,
            callable_obj,
            case,
            sub_handles=sub_handles,
            rounds=rounds,
            skip_golden=skip_golden,
            enable_chip_swimlane=enable_chip_swimlane,
            enable_dump_args=enable_dump_args,
            enable_pmu=enable_pmu,
            enable_dep_gen=enable_dep_gen,
            enable_scope_stats=enable_scope_stats,
            output_prefix="",
        )


class SceneTestCase:
    CALLABLE: ClassVar[dict[str, Any]] = {}
    CASES: ClassVar[list[dict[str, Any]]] = []
    RTOL: float = 1e-5
    ATOL: float = 1e-5
    SKIP_GOLDEN: bool = False
    RUNTIME_ENV: ClassVar[dict[str, str]] = {}
    _st_level: int
    _st_runtime: str
    _st_l2_handle: Any
    _st_sub_handles: dict[str, Any]
    _st_chip_handles: dict[str, Any]

    def generate_args(self, params: dict[str, Any]) -> TaskArgsBuilder:
        raise NotImplementedError

    def compute_golden(self, args: TaskArgsBuilder, params: dict[str, Any]) -> None:
        raise NotImplementedError

    def compare_outputs(
        self, test_args: TaskArgsBuilder, golden_args: Any, output_names: list[str], params: dict[str, Any]
    ) -> None:
        import torch

        for name in output_names:
            actual, expected = getattr(test_args, name), getattr(golden_args, name)
            if not torch.allclose(actual, expected, rtol=self.RTOL, atol=self.ATOL):
                raise AssertionError(f"Golden mismatch on '{name}'")

    def build_callable(self, platform: str) -> Any:
        if self._st_level == 2:
            return compile_chip_callable(self.CALLABLE)
        entries = self.CALLABLE["callables"]
        return {entry["name"]: compile_chip_callable(entry) for entry in entries if "orchestration" in entry}

    def _build_config(self, config_dict: dict[str, Any], **diagnostics: Any) -> CallConfig:
        env = RuntimeEnv(**config_dict.get("runtime_env", {}))
        return CallConfig(aicpu_thread_num=config_dict.get("aicpu_thread_num", 0), runtime_env=env, **diagnostics)

    def _run_and_validate(
        self,
        worker: Any,
        callable_obj: Any,
        case: dict[str, Any],
        sub_handles: dict[str, Any] | None = None,
        rounds: int = 1,
        skip_golden: bool = False,
        enable_chip_swimlane: int = 0,
        enable_dump_args: int = 0,
        enable_pmu: int = 0,
        enable_dep_gen: bool = False,
        enable_scope_stats: bool = False,
        output_prefix: str = "",
    ) -> None:
        how: dict[str, Any] = {
            "enable_chip_swimlane": enable_chip_swimlane,
            "enable_dump_args": enable_dump_args,
            "enable_pmu": enable_pmu,
            "enable_dep_gen": enable_dep_gen,
            "enable_scope_stats": enable_scope_stats,
            "output_prefix": output_prefix,
        }
        if self._st_level == 2:
            self._run_and_validate_l2(worker, callable_obj, case, rounds=rounds, skip_golden=skip_golden, **how)
        elif self._st_level == 3:
            handles = sub_handles or {}
            self._run_and_validate_l3(
                worker, callable_obj, handles, case, rounds=rounds, skip_golden=skip_golden, **how
            )

    def _run_and_validate_l2(
        self,
        worker: Any,
        callable_obj: Any,
        case: dict[str, Any],
        rounds: int = 1,
        skip_golden: bool = False,
        **how: Any,
    ) -> None:
        params = case.get("params", {})
        skip_golden = skip_golden or bool(case.get("skip_golden", self.SKIP_GOLDEN))
        handle = getattr(type(self), "_st_l2_handle", None)
        if handle is None:
            handle = worker.register(callable_obj)
            type(self)._st_l2_handle = handle
        test_args = self.generate_args(params)
        chip_args, output_names = _build_l2_ref_args(test_args, callable_obj.signature, worker)
        golden_args = self._golden(test_args, params, skip_golden)
        for _ in range(rounds):
            config = self._build_config(case.get("config", {}), **how)
            with _temporary_env(self.RUNTIME_ENV):
                worker.run(handle, chip_args, config=config)
            if not skip_golden:
                self.compare_outputs(test_args, golden_args, output_names, params)

    def _run_and_validate_l3(
        self,
        worker: Any,
        compiled_callables: dict[str, Any],
        sub_handles: dict[str, Any],
        case: dict[str, Any],
        rounds: int = 1,
        skip_golden: bool = False,
        **how: Any,
    ) -> None:
        params = case.get("params", {})
        skip_golden = skip_golden or bool(case.get("skip_golden", self.SKIP_GOLDEN))
        test_args = self.generate_args(params)
        golden_args = self._golden(test_args, params, skip_golden)
        rehosted = _RehostedTaskArgs(worker, test_args)
        try:
            callables = SimpleNamespace(**compiled_callables, **sub_handles)
            for _ in range(rounds):
                config = self._build_config(case.get("config", {}), **how)

                def task_orch(orch: Any, _args: Any, _cfg: Any, config: CallConfig = config) -> None:
                    self.CALLABLE["orchestration"](orch, callables, test_args, config)

                with _temporary_env(self.RUNTIME_ENV):
                    worker.run(task_orch)
                if not skip_golden:
                    self.compare_outputs(test_args, golden_args, test_args.tensor_names(), params)
        finally:
            rehosted.release()

    def _golden(self, test_args: TaskArgsBuilder, params: dict[str, Any], skip: bool) -> TaskArgsBuilder | None:
        if skip:
            return None
        golden_args = test_args.clone()
        self.compute_golden(golden_args, params)
        return golden_args

    def test_run(self, st_platform: str, st_worker: Any, request: Any) -> None:
        option = request.config.getoption
        matched = [case for case in self.CASES if is_selected(case, st_platform, option("--manual"))]
        diagnostics = effective_diagnostics(option("--rounds"), {"dep_gen": option("--enable-dep-gen")})
        callable_obj = self.build_callable(st_platform)
        run_class_cases(
            st_worker,
            self,
            matched,
            callable_obj=getattr(type(self), "_st_chip_handles", callable_obj),
            sub_handles=getattr(type(self), "_st_sub_handles", {}),
            rounds=option("--rounds"),
            skip_golden=option("--skip-golden"),
            enable_chip_swimlane=0,
            enable_dump_args=0,
            enable_pmu=0,
            enable_dep_gen=bool(diagnostics["dep_gen"]),
            enable_scope_stats=False,
        )

    @staticmethod
    def run_module(module_name: str) -> None:
        """`if __name__ == "__main__": SceneTestCase.run_module(__name__)`."""
        from .standalone import run_module

        run_module(module_name)


def discover(module_name: str) -> list[type[SceneTestCase]]:
    found = vars(sys.modules[module_name]).values()
    return [cls for cls in found if isinstance(cls, type) and issubclass(cls, SceneTestCase) and cls.CASES]
