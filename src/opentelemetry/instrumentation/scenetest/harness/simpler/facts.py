"""Reads the conditions of a case from the harness's objects.

The names are those of `conditions.table.CONDITIONS` without `scenetest.`. A fact that an object does not have is left
out. The pids of forked workers are not a condition: they tell which process wrote a native marker.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_FORKED = {"workers.chip": "_chip_pids", "workers.sub": "_sub_pids", "workers.next_level": "_next_level_pids"}
_RINGS = {"ring.task_window": "ring_task_window", "ring.heap": "ring_heap", "ring.dep_pool": "ring_dep_pool"}
_DIAGNOSTIC = "enable_"


def of_worker(worker: Any) -> dict[str, object]:
    """Return the facts of a Worker: where it runs, and how many processes it forked."""
    config: Mapping[str, Any] = getattr(worker, "_config", {})
    found: dict[str, object] = {
        "level": getattr(worker, "level", None),
        "platform": config.get("platform"),
        "runtime": config.get("runtime"),
        "sdma": bool(config.get("enable_sdma", False)),
    }
    devices = config.get("device_ids", [config["device_id"]] if "device_id" in config else [])
    if devices:
        found["devices"] = len(devices)
        found["device.id"] = ",".join(map(str, devices))
    forked: list[int] = []
    for name, attribute in _FORKED.items():
        pids = getattr(worker, attribute, None)
        if pids is not None:
            found[name] = len(pids)
            forked += pids
    if forked:
        found["workers.pids"] = ",".join(map(str, forked))
    if hasattr(worker, "_prewarm_config"):
        found["prewarm"] = worker._prewarm_config is not None
    return found


def of_case(scene: Any, arguments: Mapping[str, Any]) -> dict[str, object]:
    """Return how a case runs, with the effective values, from a call of `_run_and_validate`.

    Args:
        scene: the SceneTestCase.
        arguments: the arguments of the call, defaults included.
    """
    case: Mapping[str, Any] = arguments["case"]
    config: Mapping[str, Any] = case.get("config") or {}
    rings: Mapping[str, Any] = config.get("runtime_env") or {}
    rounds = arguments.get("rounds", 1)
    skips = arguments.get("skip_golden") or case.get("skip_golden", getattr(scene, "SKIP_GOLDEN", False))
    found: dict[str, object] = {
        **of_worker(arguments.get("worker")),
        "code.file.path": getattr(sys.modules.get(type(scene).__module__), "__file__", None),
        "level": _number(getattr(scene, "_st_level", None)),
        "runtime": getattr(scene, "_st_runtime", None),
        "rounds": rounds,
        "aicpu_threads": config.get("aicpu_thread_num", 0),
        "golden_skipped": bool(skips),
        "diagnostics": _diagnostics(rounds, arguments),
        **{name: str(rings.get(key, 0)) for name, key in _RINGS.items()},
    }
    compiler: Any = getattr(sys.modules.get("simpler_setup.kernel_compiler"), "KernelCompiler", None)
    if hasattr(compiler, "_sanitizers"):
        found["sanitizer"] = str(compiler._sanitizers) or "none"
    return found


_HASH_DIGITS = 12


def of_callable(target: Any) -> str:
    """Return the name of a dispatch outside any case: the name of a function, or the hash of a registered callable."""
    if name := getattr(target, "__qualname__", None):
        return str(name)
    hashid = getattr(target, "hashid", None)  # 64 hexadecimal digits; the first ones are enough
    return str(hashid)[:_HASH_DIGITS] if hashid else type(target).__qualname__


def _diagnostics(rounds: int, arguments: Mapping[str, Any]) -> str:
    # scene_test._effective_diagnostic_options: all off when a case runs more than once
    given = {name.removeprefix(_DIAGNOSTIC): value for name, value in arguments.items() if name.startswith(_DIAGNOSTIC)}
    return ",".join(f"{name}={int(value)}" for name, value in given.items() if value and rounds <= 1) or "off"


def _number(level: object) -> int | None:
    """Return the harness's enumeration value as a plain number."""
    return int(level) if isinstance(level, int) else None
