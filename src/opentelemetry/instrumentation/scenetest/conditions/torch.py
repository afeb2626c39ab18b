"""Conditions of torch and of its device backends."""

from __future__ import annotations

import sys
from typing import Any, Final

from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.conditions.condition import Condition, Seen
from opentelemetry.instrumentation.scenetest.conditions.values import UNKNOWN, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


BACKENDS_LOADED: Final = "torch.backends_loaded"


def _seen(attribute: str) -> Callable[[Seen], Value | None]:
    """Return the observer of what the watch on torch's import tells."""
    return lambda seen: seen.autoload.get(attribute)


def _asked(function: str) -> Callable[[Seen], Value | None]:
    """Return the observer of what a function of torch returns."""

    def ask(seen: Seen) -> Value | None:
        if seen.autoload.get("torch.imported") is not True:
            return None
        try:
            torch: Any = sys.modules["torch"]
            return getattr(torch, function)()
        except Exception as error:  # a stand-in, for example, that has a version and little else
            faults.swallow(f"ask torch.{function}", error)
            return UNKNOWN

    return ask


_BACKEND = "a device backend takes the device, its memory and threads"
_TENSORS = (
    "arguments and golden are tensors of torch, made and copied by its threads on the CPUs of the measured process"
)

TORCH: Final = (
    Condition(
        "torch.backend_autoload.setting",
        str,
        "process",
        "context",
        meaning="`unset`, or the value of TORCH_DEVICE_BACKEND_AUTOLOAD as torch saw it: its first 64 characters; what "
        "is not printable ASCII, or is the word `unset` or `unknown`, as its JSON string",
        observed="os.environ at the last lookup of a module of torch before torch decided",
        observe=_seen("torch.backend_autoload.setting"),
    ),
    Condition(
        "torch.backend_autoload.setting_truncated",
        bool,
        "process",
        "context",
        meaning="true when the setting was cut; absent otherwise",
        observed="as the setting",
        observe=_seen("torch.backend_autoload.setting_truncated"),
    ),
    Condition(
        "torch.backend_autoload.effective",
        str,
        "process",
        "ruler",
        meaning="`enabled`, `disabled`, `unsupported` (a torch without autoload, before 2.5) or `unknown`",
        observed="entry points asked for by torch._import_device_backends prove `enabled`, a torch complete without it "
        "`disabled`",
        why="a backend that `import torch` loads takes the device, its memory and threads before anything is measured",
        observe=_seen("torch.backend_autoload.effective"),
    ),
    Condition(
        "torch.backend_autoload.captured",
        str,
        "process",
        "context",
        meaning="`at_import` (observed), `at_launch` or `at_dispatch` (concluded from agreeing values)",
        observed="which of them the observation rests on",
        observe=_seen("torch.backend_autoload.captured"),
    ),
    Condition(
        "torch.backend_autoload.outcome",
        str,
        "process",
        "ruler",
        meaning="`loaded`, `failed`, `disabled`, `no_backend`, `torch_not_imported` or `unknown`",
        observed="lookups of backends while torch asked for entry points, and sys.modules",
        why="a backend that `import torch` loads takes the device, its memory and threads before anything is measured",
        observe=_seen("torch.backend_autoload.outcome"),
    ),
    Condition(
        "torch.backend_autoload.backends",
        str,
        "process",
        "context",
        meaning="distributions that register a torch.backends entry point, comma-separated",
        observed="metadata of the installed distributions",
        observe=_seen("torch.backend_autoload.backends"),
    ),
    Condition(
        "torch.backend_autoload.failed_backend",
        str,
        "process",
        "context",
        meaning="the distribution whose entry point failed; absent unless one did and which is certain",
        observed="the last lookup of a registered backend while torch asked for entry points",
        observe=_seen("torch.backend_autoload.failed_backend"),
    ),
    Condition(
        "torch.backend_autoload.duration",
        float,
        "process",
        "context",
        meaning="seconds spent in the entry points; absent unless both ends were observed",
        observed="from the request for entry points to the lookup of torch._native (since torch 2.12.1)",
        observe=_seen("torch.backend_autoload.duration"),
        measured=True,
    ),
    Condition(
        "torch.imported",
        bool,
        "process",
        "ruler",
        meaning="torch is imported, and completely",
        observed="sys.modules",
        why=_TENSORS,
        observe=_seen("torch.imported"),
    ),
    Condition(
        "torch.version",
        str,
        "process",
        "ruler",
        meaning="torch.__version__",
        observed="sys.modules",
        why=_TENSORS,
        observe=_seen("torch.version"),
    ),
    Condition(
        "torch_npu.loaded",
        bool,
        "process",
        "ruler",
        meaning="torch_npu is imported, or was and was taken out of sys.modules; half-initialised is not loaded",
        observed="sys.modules and lookups of torch_npu",
        why="a backend that `import torch` loads takes the device, its memory and threads before anything is measured",
        observe=_seen("torch_npu.loaded"),
    ),
    Condition(
        "torch_npu.version",
        str,
        "process",
        "ruler",
        meaning="torch_npu.__version__",
        observed="sys.modules",
        why="a backend that `import torch` loads takes the device, its memory and threads before anything is measured",
        observe=_seen("torch_npu.version"),
    ),
    Condition(
        "torch_npu.loaded_by",
        str,
        "process",
        "context",
        meaning="`autoload`, `import` or `unknown`",
        observed="looked up inside or outside of torch._import_device_backends",
        observe=_seen("torch_npu.loaded_by"),
    ),
    Condition(
        "torch_npu.initialized",
        bool,
        "process",
        "context",
        meaning="the NPU was initialised; may change at the first dispatch",
        observed="torch_npu.npu._initialized, read without calling into it",
        observe=_seen("torch_npu.initialized"),
    ),
    Condition(
        BACKENDS_LOADED,
        str,
        "process",
        "ruler",
        meaning="distributions of the registered device backends whose module was imported, in whatever way, "
        "comma-separated; empty for none; `unknown` where an import began and the module is absent",
        observed="torch.backends entry points, sys.modules and lookups of their modules",
        why=_BACKEND,
        observe=_seen(BACKENDS_LOADED),
        schema=2,
    ),
    Condition(
        "torch.num_threads",
        int,
        "process",
        "ruler",
        meaning="torch's intra-op threads",
        observed="torch.get_num_threads()",
        why=_TENSORS,
        observe=_asked("get_num_threads"),
    ),
    Condition(
        "torch.num_interop_threads",
        int,
        "process",
        "ruler",
        meaning="torch's inter-op threads",
        observed="torch.get_num_interop_threads()",
        why=_TENSORS,
        observe=_asked("get_num_interop_threads"),
        schema=2,
    ),
    Condition(
        "torch.float32_matmul_precision",
        str,
        "process",
        "ruler",
        meaning="`highest`, `high` or `medium`",
        observed="torch.get_float32_matmul_precision()",
        why="a lower precision computes the golden by other and faster kernels",
        observe=_asked("get_float32_matmul_precision"),
        schema=2,
    ),
    Condition(
        "torch.deterministic_algorithms",
        bool,
        "process",
        "ruler",
        meaning="only deterministic algorithms are used",
        observed="torch.are_deterministic_algorithms_enabled()",
        why="deterministic algorithms are other and slower kernels",
        observe=_asked("are_deterministic_algorithms_enabled"),
        schema=2,
    ),
)

SETTINGS: Final = frozenset(
    {
        "torch.num_threads",
        "torch.num_interop_threads",
        "torch.float32_matmul_precision",
        "torch.deterministic_algorithms",
    }
)
"""What a program can set at any time, without an import."""
