"""Conditions that the operating system imposes on the measured process."""

from __future__ import annotations

import os
import sys
from typing import Final

from opentelemetry.instrumentation.scenetest.conditions.condition import Condition, Seen
from opentelemetry.instrumentation.scenetest.conditions.files import launch_environment, read
from opentelemetry.instrumentation.scenetest.conditions.values import UNKNOWN, Value

_ALLOCATORS = ("libjemalloc", "libtcmalloc", "libmimalloc", "libhoard", "libsnmalloc")
_ALLOCATOR_VARIABLES = ("MALLOC_", "GLIBC_TUNABLES", "TCMALLOC_", "MIMALLOC_", "PYTHONMALLOC")
_POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline", 7: "ext"}
"""Scheduling policies of Linux, as sched(7) numbers them."""
_ADDR_NO_RANDOMIZE = 0x0040000
_ASLR = {"0": "off", "1": "partial", "2": "full"}
_CONTAINER_ID = 64
_HEX = frozenset("0123456789abcdef")


class CpuQuota:
    """The CPU quota of the process's cgroup.

    Args:
        root: where the cgroup file systems are mounted.
    """

    def __init__(self, root: str = "/sys/fs/cgroup") -> None:
        self._root = root
        self._membership: str | None = None
        self._files: list[tuple[str, str]] = []

    def read(self, membership: str) -> Value:
        """Return the smallest quota of the cgroup and those above it in CPUs, as `2` or `0.5`; `max` for none.

        Args:
            membership: the text of /proc/self/cgroup.
        """
        if membership != self._membership:
            self._membership, self._files = membership, self._find(membership)
        quotas = [allowed for files in self._files if (allowed := _quota(*files)) is not None]
        return f"{min(quotas):.4g}" if quotas else "max"

    def _find(self, membership: str) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for line in membership.split("\n"):
            _, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            if not controllers:  # cgroup v2
                mounts, names = [self._root, os.path.join(self._root, "unified")], ("cpu.max", "")
            elif "cpu" in controllers.split(","):
                mounts, names = [os.path.join(self._root, name) for name in ("cpu", controllers)], _V1
            else:
                continue
            for mount in mounts:
                found += _existing(mount, path, names)
        return found


_V1 = ("cpu.cfs_quota_us", "cpu.cfs_period_us")


def _existing(mount: str, path: str, names: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the files of a cgroup and of those above it."""
    found: list[tuple[str, str]] = []
    parts = [part for part in path.split("/") if part not in ("", "..")]
    for length in range(len(parts), -1, -1):
        folder = os.path.join(mount, *parts[:length])
        files = os.path.join(folder, names[0]), os.path.join(folder, names[1]) if names[1] else ""
        if os.path.exists(files[0]):
            found.append(files)
    return found


def _quota(quota_file: str, period_file: str) -> float | None:
    quota, _, period = read(quota_file).partition(" ")
    period = read(period_file) if period_file else period
    try:
        allowed, of = int(quota), int(period)
    except ValueError:  # `max`
        return None
    return allowed / of if allowed > 0 and of > 0 else None


_cpu_quota = CpuQuota()


def _quota_of_process(_: Seen) -> Value:
    membership = read("/proc/self/cgroup")
    return _cpu_quota.read(membership) if membership else UNKNOWN


def _tracer(_: Seen) -> Value:
    # proc_pid_status(5): TracerPid is 0 where nobody traces
    found, rest = read("/proc/self/status").partition("TracerPid:")[1:]
    return rest.split("\n", 1)[0].strip() != "0" if found else UNKNOWN


def _policy(seen: Seen) -> Value:
    policy = os.sched_getscheduler(seen.native_id) & ~os.SCHED_RESET_ON_FORK
    name = _POLICIES.get(policy, str(policy))
    priority = os.sched_getparam(seen.native_id).sched_priority
    return f"{name} {priority}" if priority else name


def _nice(seen: Seen) -> Value:
    # getpriority(2): a thread has a nice value of its own on Linux
    return os.getpriority(os.PRIO_PROCESS, seen.native_id)


def _preload(_: Seen) -> Value:
    """Return the libraries that were asked for by LD_PRELOAD or /etc/ld.so.preload and that are mapped."""
    environment = launch_environment()
    if environment is None:
        return UNKNOWN
    asked = environment.get("LD_PRELOAD", "").replace(":", " ").split() + read("/etc/ld.so.preload").split()
    if not asked:
        return ""
    mapped = _mapped()
    names = {os.path.basename(path) for path in asked}
    real = {os.path.basename(os.path.realpath(path)) for path in asked if os.sep in path}
    return ",".join(sorted(mapped & (names | real)))


def _allocator(_: Seen) -> Value:
    """Return what allocates memory: libraries that replace malloc, and variables that tune it."""
    environment = launch_environment()
    if environment is None:
        return UNKNOWN
    found = sorted(name.partition(".")[0] for name in _mapped() if name.startswith(_ALLOCATORS))
    for name, value in sorted(environment.items()):
        ignored = name.startswith("PYTHON") and sys.flags.ignore_environment
        if name.startswith(_ALLOCATOR_VARIABLES) and not ignored:
            found.append(f"{name}={value}")
    return ",".join(dict.fromkeys(found)) or "default"


def _mapped() -> set[str]:
    """Return the names of the libraries that are mapped into this process."""
    lines = (line for line in read("/proc/self/maps").split("\n") if ".so" in line)
    return {os.path.basename(line.split(None, 5)[5]) for line in lines}


def _aslr(_: Seen) -> Value:
    personality = read("/proc/self/personality")
    if personality and int(personality, 16) & _ADDR_NO_RANDOMIZE:
        return "off"
    return _ASLR.get(read("/proc/sys/kernel/randomize_va_space"), UNKNOWN)


def container_id(membership: str, mounts: str) -> str | None:
    """Return the id of the container, None outside any.

    Args:
        membership: the text of /proc/self/cgroup.
        mounts: the text of /proc/self/mountinfo: with a namespace for cgroups only this names the container.
    """
    for text in (membership, "\n".join(line for line in mounts.split("\n") if "/containers/" in line)):
        for word in text.replace("/", " ").replace("-", " ").replace(".", " ").split():
            if len(word) == _CONTAINER_ID and _HEX.issuperset(word):
                return word
    return None


def _container(_: Seen) -> Value | None:
    return container_id(read("/proc/self/cgroup"), read("/proc/self/mountinfo"))


SYSTEM: Final = (
    Condition(
        "scenetest.tracer",
        bool,
        "process",
        "ruler",
        meaning="a debugger or tracer such as gdb or strace is attached",
        observed="TracerPid of /proc/self/status",
        why="it stops the process at its system calls",
        observe=_tracer,
        schema=2,
    ),
    Condition(
        "scenetest.preload",
        str,
        "process",
        "ruler",
        meaning="libraries preloaded into the process, comma-separated; empty for none",
        observed="LD_PRELOAD at launch and /etc/ld.so.preload, where /proc/self/maps has them",
        why="they replace functions of the C library under the measured code",
        observe=_preload,
        moment="once",
        schema=2,
    ),
    Condition(
        "scenetest.allocator",
        str,
        "process",
        "ruler",
        meaning="libraries that replace malloc, and variables that tune it, comma-separated; `default` for neither",
        observed="/proc/self/maps; MALLOC_*, GLIBC_TUNABLES, PYTHONMALLOC at launch",
        why="the allocator decides how memory is reused and how threads share it",
        observe=_allocator,
        moment="once",
        schema=2,
    ),
    Condition(
        "scenetest.cpu.quota",
        str,
        "process",
        "ruler",
        meaning="CPUs that the cgroup may use at a time, for example `1.5`; `max` for no limit",
        observed="cpu.max, or cpu.cfs_quota_us, of the cgroup and those above it",
        why="a process that has used up its quota is stopped until the next period",
        observe=_quota_of_process,
        schema=2,
    ),
    Condition(
        "scenetest.scheduler",
        str,
        "process",
        "ruler",
        meaning="scheduling policy: `other`, `batch`, `idle`, `fifo <priority>`, `rr <priority>`, `deadline`",
        observed="sched_getscheduler, sched_getparam",
        why="it decides when the process gets a CPU",
        observe=_policy,
        per_thread=True,
        schema=2,
    ),
    Condition(
        "scenetest.nice",
        int,
        "process",
        "ruler",
        meaning="nice value, -20 to 19",
        observed="getpriority",
        why="it decides when the process gets a CPU",
        observe=_nice,
        per_thread=True,
        schema=2,
    ),
    Condition(
        "scenetest.aslr",
        str,
        "process",
        "context",
        meaning="randomisation of addresses: `full`, `partial` or `off`",
        observed="/proc/sys/kernel/randomize_va_space, /proc/self/personality",
        observe=_aslr,
        moment="once",
        schema=2,
    ),
    Condition(
        "container.id",
        str,
        "process",
        "context",
        meaning="id of the container; absent outside any",
        observed="/proc/self/cgroup, /proc/self/mountinfo",
        observe=_container,
        moment="once",
        schema=2,
    ),
)
