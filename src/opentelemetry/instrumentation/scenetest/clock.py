"""The real clock of the measured process, whatever the program puts in its place.

Libraries that freeze time in tests replace functions of `time`, and every attribute of a module that is one of them.
What is bound here is none of them but calls one. If they were replaced before, another copy of the module has them.
"""

from __future__ import annotations

import sys
import time
from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _real(name: str) -> partial[Any]:
    function = getattr(time, name)
    if type(function) is not type(len):
        function = getattr(_copy(), name)
    return partial(function)


def _copy() -> Any:
    """Return a copy of the module as the interpreter makes it."""
    importer: Any = sys.modules["_frozen_importlib"].BuiltinImporter
    module = importer.create_module(importer.find_spec("time"))
    importer.exec_module(module)
    return module


monotonic_ns: partial[int] = _real("monotonic_ns")
"""`CLOCK_MONOTONIC` in nanoseconds."""

thread_ns: partial[int] = _real("thread_time_ns")
"""CPU time of this thread in nanoseconds."""

unix_ns: partial[int] = _real("time_ns")
"""The wall clock in nanoseconds since 1970."""

sleep: partial[None] = _real("sleep")
"""Wait for some seconds."""
