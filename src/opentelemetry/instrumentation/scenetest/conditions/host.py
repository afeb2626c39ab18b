"""Conditions of the host."""

from __future__ import annotations

import os
from glob import glob
from time import CLOCK_BOOTTIME, clock_gettime
from typing import Final

from opentelemetry.instrumentation.scenetest.conditions.condition import Condition, Seen
from opentelemetry.instrumentation.scenetest.conditions.files import read
from opentelemetry.instrumentation.scenetest.conditions.values import UNKNOWN, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_CPU = "/sys/devices/system/cpu"


def cpu_model() -> str:
    """Return the model of the CPU, `unknown` where the kernel does not tell."""
    fields: dict[str, str] = {}
    for line in read("/proc/cpuinfo").split("\n"):
        key, _, text = line.partition(":")
        fields.setdefault(key.strip(), text.strip())
    # An Arm CPU has no model name there, but these two numbers name it.
    arm = [fields[key] for key in ("CPU implementer", "CPU part") if key in fields]
    return fields.get("model name") or " ".join(arm) or UNKNOWN


def _architecture(_: Seen) -> Value:
    return os.uname().machine


def _name(_: Seen) -> Value:
    return os.uname().nodename


def _cpu_model(_: Seen) -> Value:
    return cpu_model()


def _boot_id(_: Seen) -> Value:
    return boot_id()


def _cpus(seen: Seen) -> Value:
    return _ranges(os.sched_getaffinity(seen.native_id))


def _ranges(numbers: set[int]) -> str:
    starts = sorted(n for n in numbers if n - 1 not in numbers)
    ends = sorted(n for n in numbers if n + 1 not in numbers)
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))


def _governor(seen: Seen) -> Value | None:
    paths = (f"{_CPU}/cpu{cpu}/cpufreq/scaling_governor" for cpu in os.sched_getaffinity(seen.native_id))
    governors = {read(path) for path in paths} - {""}
    return ",".join(sorted(governors)) or None


def _text_of(path: str) -> Callable[[Seen], Value | None]:
    return lambda _: read(path) or None


def _turbo(_: Seen) -> Value | None:
    off, boost = read(f"{_CPU}/intel_pstate/no_turbo"), read(f"{_CPU}/cpufreq/boost")
    return off == "0" if off else boost == "1" if boost else None


def _smt(_: Seen) -> Value | None:
    active = read(f"{_CPU}/smt/active")
    return active == "1" if active else None


def _frequency(_: Seen) -> Value | None:
    found = [int(text) for text in map(read, glob(f"{_CPU}/cpu[0-9]*/cpufreq/scaling_cur_freq")) if text.isdecimal()]
    return f"{min(found) // 1000}-{max(found) // 1000}" if found else None


def _temperature(_: Seen) -> Value | None:
    found = [int(text) for text in map(read, glob("/sys/class/thermal/thermal_zone*/temp")) if text.isdecimal()]
    return max(found) / 1000 if found else None


def _hugepages(_: Seen) -> Value | None:
    # as in `always [madvise] never`
    text = read("/sys/kernel/mm/transparent_hugepage/enabled")
    return text.partition("[")[2].partition("]")[0] or None


def _count(_: Seen) -> Value | None:
    return os.cpu_count()


def _kernel(_: Seen) -> Value:
    return os.uname().release


def _libc(_: Seen) -> Value | None:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError):
        return None


def _uptime(_: Seen) -> Value:
    return round(clock_gettime(CLOCK_BOOTTIME))


def boot_id() -> str:
    """Return the id of this boot of the kernel, `unknown` where it does not tell."""
    return read("/proc/sys/kernel/random/boot_id") or UNKNOWN


HOST: Final = (
    Condition(
        "host.arch",
        str,
        "process",
        "ruler",
        meaning="architecture of the CPU, as uname has it",
        observed="os.uname",
        why="host segments run on it",
        observe=_architecture,
        moment="once",
    ),
    Condition(
        "host.cpu.model.name",
        str,
        "process",
        "ruler",
        meaning="model of the CPU",
        observed="/proc/cpuinfo",
        why="host segments run on it",
        observe=_cpu_model,
        moment="once",
    ),
    Condition(
        "scenetest.cpus",
        str,
        "process",
        "ruler",
        meaning="CPUs that the main thread, or the thread of a dispatch, may use, as a list of ranges",
        observed="sched_getaffinity",
        why="host segments run on it",
        observe=_cpus,
        per_thread=True,
    ),
    Condition(
        "host.name",
        str,
        "process",
        "context",
        meaning="name of the host",
        observed="os.uname",
        observe=_name,
        moment="once",
    ),
    Condition(
        "scenetest.boot_id",
        str,
        "process",
        "context",
        meaning="id of the host's boot",
        observed="/proc/sys/kernel/random/boot_id",
        observe=_boot_id,
        moment="once",
    ),
    Condition(
        "scenetest.cpu.governor",
        str,
        "process",
        "context",
        meaning="frequency governor of the CPUs that the process may use",
        observed="/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        observe=_governor,
        moment="ends",
    ),
    Condition(
        "scenetest.cpu.turbo",
        bool,
        "process",
        "context",
        meaning="CPUs may run faster than their nominal frequency; absent where the kernel does not tell",
        observed="intel_pstate/no_turbo or cpufreq/boost in /sys/devices/system/cpu",
        observe=_turbo,
        moment="ends",
        schema=2,
    ),
    Condition(
        "scenetest.cpu.frequency_driver",
        str,
        "process",
        "context",
        meaning="driver that sets the frequencies of the CPUs",
        observed="cpufreq/scaling_driver of CPU 0",
        observe=_text_of(f"{_CPU}/cpu0/cpufreq/scaling_driver"),
        moment="once",
        schema=2,
    ),
    Condition(
        "scenetest.cpu.frequency",
        str,
        "process",
        "context",
        meaning="lowest and highest frequency of the CPUs in MHz, at the first look",
        observed="/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq",
        observe=_frequency,
        moment="once",
        schema=2,
        measured=True,
    ),
    Condition(
        "scenetest.cpu.temperature",
        float,
        "process",
        "context",
        meaning="temperature of the hottest thermal zone in degrees Celsius, at the first look",
        observed="/sys/class/thermal/thermal_zone*/temp",
        observe=_temperature,
        moment="once",
        schema=2,
        measured=True,
    ),
    Condition(
        "scenetest.cpu.smt",
        bool,
        "process",
        "context",
        meaning="several hardware threads share a core",
        observed="/sys/devices/system/cpu/smt/active",
        observe=_smt,
        moment="ends",
        schema=2,
    ),
    Condition(
        "scenetest.cpu.count",
        int,
        "process",
        "context",
        meaning="CPUs of the machine",
        observed="os.cpu_count()",
        observe=_count,
        moment="once",
        schema=2,
    ),
    Condition(
        "scenetest.numa_nodes",
        str,
        "process",
        "context",
        meaning="NUMA nodes, as a list of ranges",
        observed="/sys/devices/system/node/online",
        observe=_text_of("/sys/devices/system/node/online"),
        moment="once",
        schema=2,
    ),
    Condition(
        "scenetest.transparent_hugepages",
        str,
        "process",
        "context",
        meaning="`always`, `madvise` or `never`",
        observed="/sys/kernel/mm/transparent_hugepage/enabled",
        observe=_hugepages,
        moment="ends",
        schema=2,
    ),
    Condition(
        "scenetest.clocksource",
        str,
        "process",
        "context",
        meaning="clock source of the kernel",
        observed="/sys/devices/system/clocksource/clocksource0/current_clocksource",
        observe=_text_of("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        moment="ends",
        schema=2,
    ),
    Condition(
        "scenetest.kernel.release",
        str,
        "process",
        "context",
        meaning="release of the kernel",
        observed="os.uname",
        observe=_kernel,
        moment="once",
        schema=2,
    ),
    Condition(
        "scenetest.libc",
        str,
        "process",
        "context",
        meaning="version of the C library",
        observed="confstr CS_GNU_LIBC_VERSION",
        observe=_libc,
        moment="once",
        schema=2,
    ),
    Condition(
        "scenetest.uptime",
        int,
        "process",
        "context",
        meaning="seconds since boot, at the first look",
        observed="CLOCK_BOOTTIME",
        observe=_uptime,
        moment="once",
        schema=2,
        measured=True,
    ),
)
