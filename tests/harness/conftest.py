"""The harness under pytest: inline, or one child per L3 class and resource function and then one per L2 runtime."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from simpler.worker import Worker
from simpler_setup import parallel_scheduler
from simpler_setup.log_config import DEFAULT_LOG_LEVEL, configure_logging
from simpler_setup.scene_test import is_selected
from simpler_setup.standalone import register_callables


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--platform", default=None)
    parser.addoption("--device", default="0")
    parser.addoption("--manual", choices=["exclude", "include", "only"], default="exclude")
    parser.addoption("--runtime", default=None)
    parser.addoption("--level", type=int, choices=[2, 3, 4], default=None)
    parser.addoption("--max-parallel", type=int, default=1)
    parser.addoption("--rounds", type=int, default=1)
    parser.addoption("--skip-golden", action="store_true")
    parser.addoption("--enable-dep-gen", action="store_true")


def pytest_configure(config: Any) -> None:
    for marker in ("platforms(list)", "device_count(n)", "runtime(name)"):
        config.addinivalue_line("markers", marker)
    configure_logging(config.getoption("--log-level") or DEFAULT_LOG_LEVEL)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker.startswith("gw"):
        ids = parallel_scheduler.device_range_to_list(config.getoption("--device"))
        config.option.device = str(ids[int(worker[2:]) % len(ids)])


def _level(item: Any) -> int | None:
    return getattr(item.cls, "_st_level", None) or getattr(item.function, "_st_level", None)


def _cases(item: Any) -> list[dict[str, Any]]:
    option = item.config.getoption
    return [case for case in item.cls.CASES if is_selected(case, option("--platform"), option("--manual"))]


def _runtime(item: Any) -> str | None:
    marker = item.get_closest_marker("runtime")
    return marker.args[0] if marker else getattr(item.cls, "_st_runtime", None)


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    runtime, level = config.getoption("--runtime"), config.getoption("--level")
    dropped = [
        item
        for item in items
        if (runtime and _runtime(item) not in (None, runtime))
        or (level is not None and _level(item) != level)
        or (item.cls is not None and not _cases(item))
    ]
    config.hook.pytest_deselected(items=dropped)
    items[:] = sorted((i for i in items if i not in dropped), key=lambda i: (-(_level(i) or 0), i.nodeid))


def _jobs(items: list[Any], config: Any) -> list[parallel_scheduler.Job]:
    jobs: list[parallel_scheduler.Job] = []
    for item in items:
        marker = item.get_closest_marker("device_count")
        if item.cls is not None and _level(item) == 3:
            count = max(case.get("config", {}).get("device_count", 1) for case in _cases(item))
        elif item.cls is None and marker and _runtime(item):
            count = marker.args[0]
        else:
            continue
        more = ["--level", "3"] if item.cls is not None else []
        tail = ["--runtime", str(_runtime(item)), *more, "--platform", config.getoption("--platform")]
        tail += ["--manual", config.getoption("--manual")]

        def build(ids: list[int], nodeid: str = item.nodeid, tail: list[str] = tail) -> list[str]:
            device = parallel_scheduler.format_device_range(ids)
            return [sys.executable, "-m", "pytest", nodeid, "--device", device, *tail]

        cwd = str(config.invocation_params.dir)
        jobs.append(parallel_scheduler.Job(item.name, count, build, cwd=cwd, nodeid=item.nodeid))
    return jobs


def pytest_runtestloop(session: Any) -> bool | None:
    option = session.config.getoption
    if option("--runtime") is not None or option("--level") in (2, 3) or not session.items:
        return None
    jobs = _jobs(session.items, session.config)
    runtimes = sorted({str(_runtime(item)) for item in session.items if _level(item) == 2})
    if not jobs and len(runtimes) <= 1:
        return None
    devices = parallel_scheduler.device_range_to_list(option("--device"))
    results = parallel_scheduler.run_jobs(jobs, devices, on_job_done=lambda result: print(result.output, flush=True))
    failed = any(result.returncode for result in results)
    parallel = ["-n", str(option("--max-parallel")), "--dist", "loadfile"] if option("--max-parallel") > 1 else []
    for runtime in runtimes:
        args = [str(arg) for arg in session.config.invocation_params.args]
        command = [sys.executable, "-m", "pytest", *args, "--runtime", runtime, "--level", "2", *parallel]
        failed |= subprocess.run(command, check=False, cwd=session.config.invocation_params.dir).returncode != 0
    session.testsfailed = int(failed)
    session.testscollected = len(session.items)
    return True


@pytest.fixture(scope="session")
def st_platform(request: Any) -> str:
    return request.config.getoption("--platform")


@pytest.fixture(scope="session")
def l2_workers(st_platform: str) -> Iterator[dict[str, Worker]]:
    """One Worker per runtime for the whole process."""
    pool: dict[str, Worker] = {}
    yield pool
    for worker in pool.values():
        worker.close()


@pytest.fixture
def st_device_ids(request: Any) -> list[int]:
    marker = request.node.get_closest_marker("device_count")
    ids = parallel_scheduler.device_range_to_list(request.config.getoption("--device"))
    return ids[: marker.args[0] if marker else 1]


@pytest.fixture
def st_worker(request: Any, st_platform: str, l2_workers: dict[str, Worker]) -> Iterator[Worker]:
    cls = request.node.cls
    devices = parallel_scheduler.device_range_to_list(request.config.getoption("--device"))
    if cls._st_level == 2:
        if cls._st_runtime not in l2_workers:
            worker = Worker(level=2, device_id=devices[0], platform=st_platform, runtime=cls._st_runtime)
            worker.init()
            l2_workers[cls._st_runtime] = worker
        yield l2_workers[cls._st_runtime]
        return
    configs = [case.get("config", {}) for case in cls.CASES]
    worker = Worker(
        level=3,
        device_ids=devices[: max(config.get("device_count", 1) for config in configs)],
        num_sub_workers=max(config.get("num_sub_workers", 0) for config in configs),
        platform=st_platform,
        runtime=cls._st_runtime,
    )
    cls._st_chip_handles, cls._st_sub_handles = register_callables(worker, cls)
    worker.init()
    yield worker
    worker.close()
