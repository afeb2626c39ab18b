"""Conditions of a case: what the caller or the harness tells of it, and the load of the CPUs while it ran."""

from __future__ import annotations

import os
from typing import Final

from opentelemetry.instrumentation.scenetest.conditions.condition import Condition
from opentelemetry.instrumentation.scenetest.conditions.files import read
from opentelemetry.instrumentation.scenetest.conditions.values import UNKNOWN, Value


def cpu_pressure() -> int | None:
    """Return for how many microseconds since boot some task waited for a CPU; None where the kernel does not tell."""
    text = read("/proc/pressure/cpu")
    total = text.partition("total=")[2].split("\n", 1)[0]
    return int(total) if total.isdecimal() else None


def at_end(before: int | None, duration_ns: int) -> dict[str, Value]:
    """Return what is known at the end of a case: how busy its CPUs were, and how large the process became.

    Args:
        before: `cpu_pressure()` at its start.
        duration_ns: its duration.
    """
    now = cpu_pressure()
    if before is None or now is None or duration_ns <= 0:
        pressure: Value = UNKNOWN
    else:
        pressure = round(min(1.0, (now - before) * 1000 / duration_ns), 4)
    # proc_pid_status(5): VmHWM:      5424 kB
    peak = read("/proc/self/status").partition("VmHWM:")[2].split("\n", 1)[0].split()
    return {"scenetest.cpu.pressure": pressure, "scenetest.memory.peak": int(peak[0]) * 1024 if peak else UNKNOWN}


def load() -> dict[str, Value]:
    """Return how busy the machine is, and how much memory is free, at the start of a case."""
    # proc_loadavg(5): 0.20 0.18 0.12 1/80 11206
    average, _, _, tasks, *_ = [*read("/proc/loadavg").split(), "", "", "", ""]
    running = tasks.partition("/")[0]
    return {
        "scenetest.load.average": float(average) if average else UNKNOWN,
        "scenetest.load.running": int(running) if running.isdecimal() else UNKNOWN,
        "scenetest.memory.free": os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
    }


IN_THREADS: Final = "scenetest.dispatches.in_threads"
UNASSIGNED: Final = "scenetest.dispatches.unassigned"

CASE: Final = (
    Condition(
        "code.file.path",
        str,
        "case",
        "context",
        meaning="file of the scene",
        observed="__file__ of the module of the SceneTestCase",
    ),
    Condition(
        "scenetest.level",
        int,
        "case",
        "ruler",
        meaning="level of the scene: 2, 3 or 4",
        observed="SceneTestCase._st_level, Worker.level",
        why="another level dispatches through other processes",
    ),
    Condition(
        "scenetest.platform",
        str,
        "case",
        "ruler",
        meaning="platform, for example a2a3sim",
        observed="Worker._config",
        why="a simulator and a device, or two devices, are different machines",
    ),
    Condition(
        "scenetest.runtime",
        str,
        "case",
        "ruler",
        meaning="runtime, for example host_build_graph",
        observed="SceneTestCase._st_runtime",
        why="another runtime is another program",
    ),
    Condition(
        "scenetest.devices",
        int,
        "case",
        "ruler",
        meaning="number of devices of the Worker",
        observed="Worker._config",
        why="a dispatch waits for the slowest of its devices",
    ),
    Condition(
        "scenetest.device.id",
        str,
        "case",
        "context",
        meaning="device ids of the Worker, comma-separated",
        observed="Worker._config",
    ),
    Condition(
        "scenetest.workers.chip",
        int,
        "case",
        "ruler",
        meaning="forked chip workers",
        observed="Worker._chip_pids",
        why="workers poll their mailboxes, so each one more takes a CPU from the measured process",
    ),
    Condition(
        "scenetest.workers.sub",
        int,
        "case",
        "ruler",
        meaning="forked sub workers",
        observed="Worker._sub_pids",
        why="workers poll their mailboxes, so each one more takes a CPU from the measured process",
    ),
    Condition(
        "scenetest.workers.next_level",
        int,
        "case",
        "ruler",
        meaning="forked next-level workers",
        observed="Worker._next_level_pids",
        why="workers poll their mailboxes, so each one more takes a CPU from the measured process",
    ),
    Condition(
        "scenetest.sdma",
        bool,
        "case",
        "ruler",
        meaning="the Worker holds SDMA streams",
        observed="Worker._config",
        why="transfers take another path",
    ),
    Condition(
        "scenetest.prewarm",
        bool,
        "case",
        "ruler",
        meaning="Worker.init was given a prewarm_config",
        observed="arguments of Worker.init",
        why="it moves work out of the first round",
    ),
    Condition(
        "scenetest.aicpu_threads",
        int,
        "case",
        "ruler",
        meaning="aicpu_thread_num; 0 is the default",
        observed="config of the case",
        why="scheduling is shared by that many threads",
    ),
    Condition(
        "scenetest.ring.task_window",
        str,
        "case",
        "ruler",
        meaning="ring_task_window; 0 is unset",
        observed="config of the case",
        why="the size of the rings decides whether a task waits for room",
    ),
    Condition(
        "scenetest.ring.heap",
        str,
        "case",
        "ruler",
        meaning="ring_heap; 0 is unset",
        observed="config of the case",
        why="the size of the rings decides whether a task waits for room",
    ),
    Condition(
        "scenetest.ring.dep_pool",
        str,
        "case",
        "ruler",
        meaning="ring_dep_pool; 0 is unset",
        observed="config of the case",
        why="the size of the rings decides whether a task waits for room",
    ),
    Condition(
        "scenetest.golden_skipped",
        bool,
        "case",
        "ruler",
        meaning="the golden was neither computed nor compared",
        observed="argument of _run_and_validate, or skip_golden of the case, or SKIP_GOLDEN of the class",
        why="the golden runs on the same CPUs between the rounds and leaves other caches behind",
    ),
    Condition(
        "scenetest.diagnostics",
        str,
        "case",
        "ruler",
        meaning="effective diagnostics as `name=value`, comma-separated; `off` for none",
        observed="arguments of _run_and_validate; off when rounds > 1",
        why="collecting them is part of the measured time",
    ),
    Condition(
        "scenetest.sanitizer",
        str,
        "case",
        "ruler",
        meaning="sanitizers of the native build",
        observed="KernelCompiler._sanitizers",
        why="sanitized code is several times slower",
    ),
    Condition(
        "scenetest.rounds",
        int,
        "case",
        "context",
        meaning="rounds asked for",
        observed="argument of _run_and_validate",
    ),
    Condition(
        IN_THREADS,
        int,
        "case",
        "context",
        meaning="dispatches of the case by other threads, whose context names no case; absent for none",
        observed="the case was the only one that was open in the process",
        schema=2,
    ),
    Condition(
        UNASSIGNED,
        int,
        "case",
        "context",
        meaning="dispatches by other threads that may be of the case and are outside any; absent for none",
        observed="several cases were open in the process",
        schema=2,
    ),
    Condition(
        "scenetest.cpu.pressure",
        float,
        "case",
        "context",
        meaning="share of the case's time in which some task waited for a CPU, 0 to 1",
        observed="total of /proc/pressure/cpu at its two ends",
        measured=True,
    ),
    Condition(
        "scenetest.load.average",
        float,
        "case",
        "context",
        meaning="load average over a minute, at the start of the case",
        observed="/proc/loadavg",
        schema=2,
        measured=True,
    ),
    Condition(
        "scenetest.load.running",
        int,
        "case",
        "context",
        meaning="tasks that run or could run, at the start of the case",
        observed="/proc/loadavg",
        schema=2,
        measured=True,
    ),
    Condition(
        "scenetest.memory.free",
        int,
        "case",
        "context",
        meaning="free memory of the machine in bytes, at the start of the case",
        observed="sysconf SC_AVPHYS_PAGES",
        schema=2,
        measured=True,
    ),
    Condition(
        "scenetest.memory.peak",
        int,
        "case",
        "context",
        meaning="largest memory of the process up to the end of the case, in bytes",
        observed="VmHWM of /proc/self/status",
        schema=2,
        measured=True,
    ),
)
