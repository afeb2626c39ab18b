"""Conditions of the Python that runs the measured process, and of what traces it."""

from __future__ import annotations

import os
import sys
from typing import Any, Final

from opentelemetry.instrumentation.scenetest.conditions.condition import Condition, Seen
from opentelemetry.instrumentation.scenetest.conditions.values import Value

_TOOLS = range(6)
"""Ids of tools of `sys.monitoring`."""
_INTERPRETER = "host segments are run by it"
_TRACING = "it is called for every line, call or return of the measured code"


def _implementation(_: Seen) -> Value:
    return sys.implementation.name


def _version(_: Seen) -> Value:
    return ".".join(map(str, sys.version_info[:3])) + ("" if sys.version_info[3] == "final" else sys.version.split()[0])


def _compiler(_: Seen) -> Value | None:
    # sys.version: "3.11.7 (main, Dec  8 2023, 18:56:58) [GCC 12.2.0]"
    return sys.version.rpartition("[")[2].rstrip("]") if "[" in sys.version else None


def _build(_: Seen) -> Value:
    flavours = {
        "debug": hasattr(sys, "gettotalrefcount"),
        "free-threaded": "t" in getattr(sys, "abiflags", ""),
        "jit": _call("_jit", "is_enabled") is True,
    }
    return ",".join(name for name, present in flavours.items() if present) or "release"


def _gil(_: Seen) -> Value | None:
    return getattr(sys, "_is_gil_enabled", lambda: None)()


def _optimize(_: Seen) -> Value:
    return sys.flags.optimize


def _dev_mode(_: Seen) -> Value:
    return sys.flags.dev_mode


def _hash_seed(_: Seen) -> Value:
    if sys.flags.hash_randomization:
        seed = "" if sys.flags.ignore_environment else os.environ.get("PYTHONHASHSEED", "")
        return seed if seed.isdecimal() else "random"
    return "0"


def _garbage_collector(_: Seen) -> Value:
    import gc

    return ",".join(map(str, gc.get_threshold())) if gc.isenabled() else "off"


def _tracing(_: Seen) -> Value:
    found = ["trace"] if sys.gettrace() is not None else []
    found += ["profile"] if sys.getprofile() is not None else []
    monitoring: Any = getattr(sys, "monitoring", None)
    if monitoring is not None:
        tools = (monitoring.get_tool(tool) for tool in _TOOLS)
        found += [f"monitoring {tool}" for tool in tools if tool is not None]
    return ",".join(found)


def _call(module: str, function: str) -> object:
    return getattr(getattr(sys, module, None), function, lambda: None)()


PYTHON: Final = (
    Condition(
        "process.runtime.name",
        str,
        "process",
        "ruler",
        meaning="implementation of Python, for example `cpython`",
        observed="sys.implementation",
        why=_INTERPRETER,
        observe=_implementation,
        moment="once",
        schema=2,
    ),
    Condition(
        "process.runtime.version",
        str,
        "process",
        "ruler",
        meaning="version of Python",
        observed="sys.version_info",
        why=_INTERPRETER,
        observe=_version,
        moment="once",
        schema=2,
    ),
    Condition(
        "scenetest.python.build",
        str,
        "process",
        "ruler",
        meaning="`release`, or which of `debug`, `free-threaded` and `jit` apply, comma-separated",
        observed="sys.gettotalrefcount, sys.abiflags, sys._jit",
        why=_INTERPRETER,
        observe=_build,
        moment="once",
        schema=2,
    ),
    Condition(
        "scenetest.python.gil",
        bool,
        "process",
        "ruler",
        meaning="the global interpreter lock is on; absent before Python 3.13",
        observed="sys._is_gil_enabled()",
        why="without it threads of the program run beside the measured one",
        observe=_gil,
        schema=2,
    ),
    Condition(
        "scenetest.python.optimize",
        int,
        "process",
        "ruler",
        meaning="level of -O",
        observed="sys.flags.optimize",
        why="asserts and docstrings are left out of the measured code",
        observe=_optimize,
        moment="once",
        schema=2,
    ),
    Condition(
        "scenetest.python.dev_mode",
        bool,
        "process",
        "ruler",
        meaning="development mode (-X dev)",
        observed="sys.flags.dev_mode",
        why="it checks memory and arguments while the program runs",
        observe=_dev_mode,
        moment="once",
        schema=2,
    ),
    Condition(
        "scenetest.python.tracing",
        str,
        "process",
        "ruler",
        meaning="what traces the program from inside: `trace`, `profile`, `monitoring <tool>`, comma-separated; empty "
        "for nothing",
        observed="sys.gettrace, sys.getprofile, sys.monitoring",
        why=_TRACING,
        observe=_tracing,
        per_thread=True,
        schema=2,
    ),
    Condition(
        "scenetest.python.gc",
        str,
        "process",
        "ruler",
        meaning="thresholds of the garbage collector, comma-separated, or `off`",
        observed="gc.isenabled, gc.get_threshold",
        why="a collection inside a dispatch is part of its duration",
        observe=_garbage_collector,
        schema=2,
    ),
    Condition(
        "scenetest.python.hash_seed",
        str,
        "process",
        "context",
        meaning="`random`, or the number that PYTHONHASHSEED sets",
        observed="sys.flags.hash_randomization, PYTHONHASHSEED",
        observe=_hash_seed,
        moment="once",
        schema=2,
    ),
    Condition(
        "scenetest.python.compiler",
        str,
        "process",
        "context",
        meaning="compiler that Python was built with",
        observed="sys.version",
        observe=_compiler,
        moment="once",
        schema=2,
    ),
)
