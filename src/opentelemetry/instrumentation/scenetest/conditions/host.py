"""Conditions of the host."""

from __future__ import annotations

import os
from typing import Final

from opentelemetry.instrumentation.scenetest.conditions.condition import Condition, Seen
from opentelemetry.instrumentation.scenetest.conditions.files import read
from opentelemetry.instrumentation.scenetest.conditions.values import UNKNOWN, Value


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


def _cpus(_: Seen) -> Value:
    return _ranges(os.sched_getaffinity(0))


def _ranges(numbers: set[int]) -> str:
    starts = sorted(n for n in numbers if n - 1 not in numbers)
    ends = sorted(n for n in numbers if n + 1 not in numbers)
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))


def _governor(_: Seen) -> Value | None:
    paths = (f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor" for cpu in os.sched_getaffinity(0))
    governors = {read(path) for path in paths} - {""}
    return ",".join(sorted(governors)) or None


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
        meaning="CPUs that the process may use, as a list of ranges",
        observed="sched_getaffinity",
        why="host segments run on it",
        observe=_cpus,
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
)
