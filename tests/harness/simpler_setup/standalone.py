"""`python test_x.py -p PLATFORM`: inline for one group on one device, else one captured child per class or runtime."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from simpler.worker import Worker

from . import parallel_scheduler
from .log_config import DEFAULT_LOG_LEVEL, LOG_LEVEL_CHOICES, configure_logging
from .scene_test import (
    SceneTestCase,
    compile_chip_callable,
    discover,
    effective_diagnostics,
    is_selected,
    run_class_cases,
)

Selected = dict[type[SceneTestCase], list[dict[str, Any]]]


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("-p", "--platform", required=True)
    parser.add_argument("-d", "--device", default="0")
    parser.add_argument("--case", action="append", default=None)
    parser.add_argument("--manual", choices=["exclude", "include", "only"], default="exclude")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--skip-golden", action="store_true")
    parser.add_argument("--enable-dep-gen", action="store_true")
    parser.add_argument("--runtime")
    parser.add_argument("--level", type=int, choices=[2, 3])
    parser.add_argument("-x", "--exitfirst", action="store_true")
    parser.add_argument("--log-level", choices=LOG_LEVEL_CHOICES, default=DEFAULT_LOG_LEVEL)
    return parser.parse_args()


def run_module(module_name: str) -> None:
    args = _parse()
    configure_logging(args.log_level)
    device_ids = parallel_scheduler.device_range_to_list(args.device)
    selected: Selected = {}
    for cls in discover(module_name):
        if args.runtime not in (None, cls._st_runtime) or args.level not in (None, cls._st_level):
            continue
        cases = [case for case in cls.CASES if is_selected(case, args.platform, args.manual)]
        if cases and (not args.case or f"{cls.__name__}::" in args.case):
            selected[cls] = cases
    groups = sorted({(cls._st_runtime, cls._st_level) for cls in selected})
    child_mode = args.runtime is not None and args.level is not None
    needs_children = len(device_ids) > 1 or len(groups) > 1 or any(_device_count(cases) for cases in selected.values())
    if needs_children and not child_mode:
        sys.exit(0 if _dispatch(module_name, selected, device_ids, args) else 1)
    passed = [_run_group([c for c in selected if (c._st_runtime, c._st_level) == g], selected, device_ids, args)
              for g in groups]  # fmt: skip
    sys.exit(0 if all(passed) else 1)


def _device_count(cases: list[dict[str, Any]]) -> int:
    """Devices beyond the first that these cases need."""
    return max(case.get("config", {}).get("device_count", 1) for case in cases) - 1


def _run_group(group: list[type[SceneTestCase]], selected: Selected, device_ids: list[int], args: Any) -> bool:
    runtime, level = group[0]._st_runtime, group[0]._st_level
    print(f"\n=== Runtime: {runtime}  Level: {level} ===", flush=True)
    config: dict[str, Any] = {"platform": args.platform, "runtime": runtime}
    if level == 2:
        worker = Worker(level=2, device_id=device_ids[0], **config)
    else:
        cases = [case for cls in group for case in selected[cls]]
        subs = max(case.get("config", {}).get("num_sub_workers", 0) for case in cases)
        devices = device_ids[: 1 + _device_count(cases)]
        worker = Worker(level=3, device_ids=devices, num_sub_workers=subs, **config)
    handles = {cls: register_callables(worker, cls) for cls in group if level == 3}
    worker.init()
    passed = True
    try:
        for cls in group:
            inst = cls()
            callable_obj = inst.build_callable(args.platform)
            chip_handles, sub_handles = handles.get(cls, ({}, {}))
            for case in selected[cls]:
                passed &= _run_case(worker, inst, case, chip_handles or callable_obj, sub_handles, args)
    finally:
        worker.close()
    return passed


def _run_case(worker: Any, inst: Any, case: dict[str, Any], callable_obj: Any, sub_handles: Any, args: Any) -> bool:
    label = f"{type(inst).__name__}::{case['name']}"
    print(f"  {label} ...", flush=True)
    diagnostics = effective_diagnostics(args.rounds, {"dep_gen": args.enable_dep_gen})
    try:
        run_class_cases(
            worker,
            inst,
            [case],
            callable_obj=callable_obj,
            sub_handles=sub_handles,
            rounds=args.rounds,
            skip_golden=args.skip_golden,
            enable_chip_swimlane=0,
            enable_dump_args=0,
            enable_pmu=0,
            enable_dep_gen=bool(diagnostics["dep_gen"]),
            enable_scope_stats=False,
        )
    except Exception as error:
        print(f"  {label} FAILED: {error}", flush=True)
        if args.exitfirst:
            raise SystemExit(1) from None
        return False
    print(f"  {label} PASSED", flush=True)
    return True


def register_callables(worker: Worker, cls: type[SceneTestCase]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Before init: what the forked children inherit. Returns the handles of chip and of sub callables."""
    chips: dict[str, Any] = {}
    subs: dict[str, Any] = {}
    for entry in cls.CALLABLE["callables"]:
        if "callable" in entry:
            subs[entry["name"]] = worker.register(entry["callable"])
        else:
            chips[entry["name"]] = worker.register(compile_chip_callable(entry))
    return chips, subs


def _dispatch(module_name: str, selected: Selected, device_ids: list[int], args: Any) -> bool:
    """The parent of the module runner: dispatches nothing itself and prints no child's output."""
    script = os.path.abspath(sys.modules[module_name].__file__ or sys.argv[0])
    common = [sys.executable, script, "-p", args.platform, "--manual", args.manual, "--log-level", args.log_level]
    common += ["--rounds", str(args.rounds)] + ["--skip-golden"] * args.skip_golden
    jobs: list[parallel_scheduler.Job] = []
    for cls, cases in selected.items():
        runtime, level = cls._st_runtime, cls._st_level
        tail = ["--case", f"{cls.__name__}::", "--runtime", runtime, "--level", str(level)]

        def build(ids: list[int], tail: list[str] = tail) -> list[str]:
            return [*common, "-d", parallel_scheduler.format_device_range(ids), *tail]

        count = 1 + _device_count(cases)
        jobs.append(parallel_scheduler.Job(f"L{level} {cls.__name__} (rt={runtime}, dev={count})", count, build))

    def report(result: parallel_scheduler.JobResult) -> None:
        tag = "PASSED" if result.returncode == 0 else f"FAILED (rc={result.returncode})"
        print(f"  {result.label}: {tag} on devices {result.device_ids}", flush=True)

    results = parallel_scheduler.run_jobs(jobs, device_ids, fail_fast=args.exitfirst, on_job_done=report)
    return all(result.returncode == 0 for result in results)
