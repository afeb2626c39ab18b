"""Runs jobs as subprocesses, each with the devices that it needs, and captures what they print."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Job:
    label: str
    device_count: int
    build_cmd: Callable[[list[int]], list[str]]
    cwd: str | None = None
    env: dict[str, str] | None = None
    nodeid: str | None = None


@dataclass
class JobResult:
    label: str
    returncode: int
    device_ids: list[int]
    output: str = ""
    duration_s: float = 0.0
    nodeid: str | None = None


def run_jobs(
    jobs: list[Job],
    device_ids: list[int],
    *,
    max_parallel: int | None = None,
    fail_fast: bool = False,
    poll_interval_s: float = 0.1,
    on_job_done: Callable[[JobResult], None] | None = None,
) -> list[JobResult]:
    """One job after the other; the child's output is kept in the result and nowhere else."""
    results: list[JobResult] = []
    for job in jobs:
        if job.device_count > len(device_ids):
            raise ValueError(f"job {job.label!r} needs {job.device_count} devices but pool has {len(device_ids)}")
        allocated = device_ids[: job.device_count]
        start = time.monotonic()
        child = subprocess.Popen(
            job.build_cmd(allocated),
            cwd=job.cwd,
            env=job.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        print(f"[scheduler] START {job.label} pid={child.pid} devices={allocated}", flush=True)
        output, _ = child.communicate()
        took = time.monotonic() - start
        results.append(JobResult(job.label, child.returncode, allocated, output, took, job.nodeid))
        if on_job_done is not None:
            on_job_done(results[-1])
        if fail_fast and child.returncode:
            break
    return results


def device_range_to_list(spec: str) -> list[int]:
    ids: set[int] = set()
    for part in spec.split(","):
        first, _, last = part.partition("-")
        ids.update(range(int(first), int(last or first) + 1))
    return sorted(ids)


def format_device_range(ids: list[int]) -> str:
    return ",".join(str(i) for i in ids)
