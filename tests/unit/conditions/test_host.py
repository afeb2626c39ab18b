"""Conditions of the host."""

from __future__ import annotations

import os

import pytest

from opentelemetry.instrumentation.scenetest.conditions import host
from opentelemetry.instrumentation.scenetest.conditions.condition import Seen
from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS
from opentelemetry.instrumentation.scenetest.conditions.values import Value

NOTHING_SEEN = Seen({}, {}, harness_name="")

X86 = """processor : 0
vendor_id : GenuineIntel
model name : Intel(R) Xeon(R) Gold 6330 CPU @ 2.00GHz

processor : 1
model name : another one
"""
ARM = """processor\t: 0
BogoMIPS\t: 200.00
CPU implementer\t: 0x48
CPU part\t: 0xd01
"""


def observed(attribute: str) -> Value | None:
    observe = CONDITIONS[attribute].observe
    assert observe is not None
    return observe(NOTHING_SEEN)


@pytest.mark.parametrize(
    ("cpus", "ranges"),
    [
        ({0}, "0"),
        ({0, 1}, "0-1"),
        ({0, 1, 2, 3}, "0-3"),
        ({0, 2, 4}, "0,2,4"),
        ({7, 0, 1, 2, 9, 8}, "0-2,7-9"),
        ({5, 10, 11}, "5,10-11"),
    ],
)
def test_cpus_are_a_list_of_ranges(cpus: set[int], ranges: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def affinity(pid: int) -> set[int]:
        return cpus

    monkeypatch.setattr(os, "sched_getaffinity", affinity)
    assert observed("scenetest.cpus") == ranges


@pytest.mark.parametrize(
    ("cpuinfo", "model"),
    [
        (X86, "Intel(R) Xeon(R) Gold 6330 CPU @ 2.00GHz"),
        (ARM, "0x48 0xd01"),
        ("processor : 0\n", "unknown"),
        ("", "unknown"),
    ],
    ids=["x86", "arm", "neither", "unreadable"],
)
def test_the_model_of_the_cpu(cpuinfo: str, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(path: str) -> str:
        return {"/proc/cpuinfo": cpuinfo.strip()}[path]

    monkeypatch.setattr(host, "read", read)
    assert host.cpu_model() == model
    assert observed("host.cpu.model.name") == model


def test_the_governors_of_the_cpus_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    governors = {1: "powersave", 2: "performance", 3: "powersave", 4: "schedutil"}

    def affinity(pid: int) -> set[int]:
        return {1, 2, 3}

    def read(path: str) -> str:
        return {f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor": name for cpu, name in governors.items()}[
            path
        ]

    monkeypatch.setattr(os, "sched_getaffinity", affinity)
    monkeypatch.setattr(host, "read", read)
    assert observed("scenetest.cpu.governor") == "performance,powersave"


def test_a_host_without_governors_has_no_such_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(path: str) -> str:
        return ""

    monkeypatch.setattr(host, "read", read)
    assert observed("scenetest.cpu.governor") is None


def test_name_architecture_and_boot_are_those_of_the_kernel() -> None:
    kernel = os.uname()
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    assert (observed("host.name"), observed("host.arch")) == (kernel.nodename, kernel.machine)
    assert observed("scenetest.boot_id") == boot
