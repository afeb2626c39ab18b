"""The conditions of a measurement: what each one is called, means, and how it is observed.

This table is the only place that declares a condition. The recorder observes by it, the reader tells rulers apart by
it, the documentation is rendered from it. A condition that does not apply to a process or a case is absent from the
record; one that applies and was not observed has the value `UNKNOWN`, never a guess.
"""

from __future__ import annotations

import hashlib
from typing import Final, Literal, NamedTuple, TypeAlias

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Value: TypeAlias = "str | bool | int | float"
"""What an attribute can be: Jaeger matches attributes as strings, so lists are comma-separated text."""

UNKNOWN: Final = "unknown"
"""The value of a condition that applies but was not observed. It equals nothing, not even itself."""


NOT_RECORDED: Final = "not recorded"
"""The value of a condition that the record could not hold: it is older than the condition, or made from a log alone."""


class Condition(NamedTuple):
    """One condition of a measurement.

    Attributes:
        attribute: the OpenTelemetry attribute that carries it.
        type: the type of its value; `UNKNOWN` is allowed beside it.
        scope: `process` is set once a process and may change while it lives, `case` once a case.
        use: a `ruler` condition must be equal before two timings may be compared, `context` is shown and never fatal.
        meaning: its values and unit.
        observed: how it is observed, with the source of the fact.
    """

    attribute: str
    type: type[str] | type[bool] | type[int] | type[float]
    scope: Literal["process", "case"]
    use: Literal["ruler", "context"]
    meaning: str
    observed: str


class Variable(NamedTuple):
    """An environment variable that the harness reads, with the rule by which it does.

    Attributes:
        name: the variable.
        parse: gives the effective value from the raw one, `None` for a variable that is not set.
        type: the type of the effective value.
        rule: the parse rule in words, with the place where the harness has it.
    """

    name: str
    parse: Callable[[str | None], Value | None]
    type: type[str] | type[bool]
    rule: str

    @property
    def attribute(self) -> str:
        """The attribute of the effective value; `raw_attribute` has the raw one."""
        return f"scenetest.env.{self.name.lower()}"


def raw_attribute(variable: str) -> str:
    """Return the attribute that shows an environment variable as it is set."""
    return f"process.environment_variable.{variable}"


def _as_given(raw: str | None) -> str | None:
    return raw


def _on_by_first_letter(raw: str | None) -> bool:
    return raw is not None and raw[:1] in ("1", "t", "T")


def _off_at_zero(raw: str | None) -> bool:
    return raw != "0"


def _on_by_presence(raw: str | None) -> bool:
    return raw is not None


VARIABLES: Final = (
    Variable("PTO2_RING_TASK_WINDOW", _as_given, str, "the value, read natively"),
    Variable("PTO2_RING_HEAP", _as_given, str, "the value, read natively"),
    Variable("PTO2_RING_DEP_POOL", _as_given, str, "the value, read natively"),
    Variable("SIMPLER_HBG_BIND_BREAKDOWN_ENABLE", _on_by_first_letter, bool, "on when it starts with 1, t or T"),
    Variable("SIMPLER_HBG_HOST_PHASE_RECORDS_ENABLE", _on_by_first_letter, bool, "on when it starts with 1, t or T"),
    Variable("SIMPLER_TMR_SERIAL_ORCH_SCHED_ENABLE", _on_by_first_letter, bool, "on when it starts with 1, t or T"),
    Variable("SIMPLER_DEVICE_STRACE_ENABLE", _off_at_zero, bool, "off only at exactly 0"),
    Variable("SIMPLER_PMU_EVENT_TYPE", _as_given, str, "the value"),
    Variable("SIMPLER_SKIP_DEVICE_RUN", _on_by_presence, bool, "on when present, even as 0"),
    Variable("ASCEND_GLOBAL_LOG_LEVEL", _on_by_presence, bool, "on when present, even as 0"),
)
"""Variables of the harness that change a timing, effective as they are at `Worker.init`."""

READ_BY_NOTHING: Final = ("SIMPLER_LOG_LEVEL", "PTO2_SERIAL_ORCH_SCHED")
"""Variables that people set for the harness and that nothing in it reads."""


def _process(attribute: str, kind: type, use: Literal["ruler", "context"], meaning: str, observed: str) -> Condition:
    return Condition(attribute, kind, "process", use, meaning, observed)


def _case(attribute: str, kind: type, use: Literal["ruler", "context"], meaning: str, observed: str) -> Condition:
    return Condition(attribute, kind, "case", use, meaning, observed)


_TORCH: Final = (
    _process(
        "torch.backend_autoload.setting",
        str,
        "context",
        "`unset`, or the value of TORCH_DEVICE_BACKEND_AUTOLOAD as torch saw it: its first 64 characters; what is not "
        "printable ASCII, or is the word `unset` or `unknown`, as its JSON string",
        "os.environ at the last lookup of a module of torch before torch decided",
    ),
    _process(
        "torch.backend_autoload.setting_truncated",
        bool,
        "context",
        "true when the setting was cut; absent otherwise",
        "as the setting",
    ),
    _process(
        "torch.backend_autoload.effective",
        str,
        "ruler",
        "`enabled`, `disabled`, `unsupported` (a torch without autoload, before 2.5) or `unknown`",
        "entry points asked for by torch._import_device_backends prove `enabled`, a torch complete without it "
        "`disabled`",
    ),
    _process(
        "torch.backend_autoload.captured",
        str,
        "context",
        "`at_import` (observed), `at_launch` or `at_dispatch` (concluded from agreeing values)",
        "which of them the observation rests on",
    ),
    _process(
        "torch.backend_autoload.outcome",
        str,
        "ruler",
        "`loaded`, `failed`, `disabled`, `no_backend`, `torch_not_imported` or `unknown`",
        "lookups of backends while torch asked for entry points, and sys.modules",
    ),
    _process(
        "torch.backend_autoload.backends",
        str,
        "context",
        "distributions that register a torch.backends entry point, comma-separated",
        "metadata of the installed distributions",
    ),
    _process(
        "torch.backend_autoload.failed_backend",
        str,
        "context",
        "the distribution whose entry point failed; absent unless one did and which is certain",
        "the last lookup of a registered backend while torch asked for entry points",
    ),
    _process(
        "torch.backend_autoload.duration",
        float,
        "context",
        "seconds spent in the entry points; absent unless both ends were observed",
        "from the request for entry points to the lookup of torch._native (since torch 2.12.1)",
    ),
    _process("torch.imported", bool, "ruler", "torch is imported, and completely", "sys.modules"),
    _process("torch.version", str, "ruler", "torch.__version__", "sys.modules"),
    _process("torch_npu.loaded", bool, "ruler", "torch_npu is imported; half-initialised is not loaded", "sys.modules"),
    _process("torch_npu.version", str, "ruler", "torch_npu.__version__", "sys.modules"),
    _process(
        "torch_npu.loaded_by",
        str,
        "context",
        "`autoload`, `import` or `unknown`",
        "looked up inside or outside of torch._import_device_backends",
    ),
    _process(
        "torch_npu.initialized",
        bool,
        "context",
        "the NPU was initialised; may change at the first dispatch",
        "torch_npu.npu._initialized, read without calling into it",
    ),
    _process("torch.num_threads", int, "ruler", "torch's intra-op threads", "torch.get_num_threads()"),
)

_HARNESS: Final = (
    _process(
        "scenetest.device_files",
        str,
        "context",
        "accelerator device files held open, comma-separated; empty for none",
        "/proc/self/fd at entry of Worker.init, before the harness opens its own, else at the first case",
    ),
    _process(
        "scenetest.stderr",
        str,
        "ruler",
        "what fd 2 is: `file`, `pipe`, `tty`, `null`, `socket` or `closed`; native markers are written to it inside "
        "the timed region",
        "fstat of fd 2 before the first dispatch",
    ),
    _process(
        "scenetest.log_level",
        str,
        "ruler",
        "effective level of logger `simpler`: `debug`, `info`, `timing`, `warn`, `error` or `null`",
        "the logger, at Worker.init (simpler/_log.py takes its snapshot there)",
    ),
    *(
        _process(
            variable.attribute,
            variable.type,
            "ruler",
            f"effective value of {variable.name}: {variable.rule}",
            "os.environ at Worker.init, else at the first case",
        )
        for variable in VARIABLES
    ),
    *(
        _process(raw_attribute(name), str, "context", f"{name} as it is set; absent when it is not", "os.environ")
        for name in (*(variable.name for variable in VARIABLES), *READ_BY_NOTHING)
    ),
    _process(
        "scenetest.native.build_ids",
        str,
        "context",
        "GNU build ids of the harness's native libraries as `name=id`, comma-separated",
        "ELF notes of the files mapped by the process",
    ),
    _process("scenetest.cann.version", str, "context", "version of CANN", "version.cfg below ASCEND_HOME_PATH"),
    _process(
        "scenetest.harness.path",
        str,
        "context",
        "the checkout that holds the harness",
        "the nearest parent of simpler_setup's source with a .git",
    ),
    _process(
        "scenetest.harness.dirty",
        bool,
        "context",
        "a tracked file of that checkout differed from its commit",
        "git status, asked by `scenetest-otel run` when the run had ended",
    ),
    _process(
        "vcs.ref.head.revision",
        str,
        "context",
        "commit of the checkout that holds the harness",
        ".git/HEAD of that checkout",
    ),
    _process("vcs.ref.head.name", str, "context", "branch of the checkout that holds the harness", ".git/HEAD"),
)

_HOST: Final = (
    _process("host.arch", str, "ruler", "architecture of the CPU, as uname has it", "os.uname"),
    _process("host.cpu.model.name", str, "ruler", "model of the CPU", "/proc/cpuinfo"),
    _process("scenetest.cpus", str, "ruler", "CPUs that the process may use, as a list of ranges", "sched_getaffinity"),
    _process("host.name", str, "context", "name of the host", "os.uname"),
    _process("scenetest.boot_id", str, "context", "id of the host's boot", "/proc/sys/kernel/random/boot_id"),
    _process(
        "scenetest.cpu.governor",
        str,
        "context",
        "frequency governor of the CPUs that the process may use",
        "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    ),
)

_CASE: Final = (
    _case("code.file.path", str, "context", "file of the scene", "__file__ of the module of the SceneTestCase"),
    _case("scenetest.level", int, "ruler", "level of the scene: 2, 3 or 4", "SceneTestCase._st_level, Worker.level"),
    _case("scenetest.platform", str, "ruler", "platform, for example a2a3sim", "Worker._config"),
    _case("scenetest.runtime", str, "ruler", "runtime, for example host_build_graph", "SceneTestCase._st_runtime"),
    _case("scenetest.devices", int, "ruler", "number of devices of the Worker", "Worker._config"),
    _case("scenetest.device.id", str, "context", "device ids of the Worker, comma-separated", "Worker._config"),
    _case("scenetest.workers.chip", int, "ruler", "forked chip workers", "Worker._chip_pids"),
    _case("scenetest.workers.sub", int, "ruler", "forked sub workers", "Worker._sub_pids"),
    _case("scenetest.workers.next_level", int, "ruler", "forked next-level workers", "Worker._next_level_pids"),
    _case("scenetest.sdma", bool, "ruler", "the Worker holds SDMA streams", "Worker._config"),
    _case("scenetest.prewarm", bool, "ruler", "Worker.init was given a prewarm_config", "arguments of Worker.init"),
    _case("scenetest.aicpu_threads", int, "ruler", "aicpu_thread_num; 0 is the default", "config of the case"),
    _case("scenetest.ring.task_window", str, "ruler", "ring_task_window; 0 is unset", "config of the case"),
    _case("scenetest.ring.heap", str, "ruler", "ring_heap; 0 is unset", "config of the case"),
    _case("scenetest.ring.dep_pool", str, "ruler", "ring_dep_pool; 0 is unset", "config of the case"),
    _case(
        "scenetest.golden_skipped",
        bool,
        "ruler",
        "the golden was neither computed nor compared",
        "argument of _run_and_validate, or skip_golden of the case, or SKIP_GOLDEN of the class",
    ),
    _case(
        "scenetest.diagnostics",
        str,
        "ruler",
        "effective diagnostics as `name=value`, comma-separated; `off` for none",
        "arguments of _run_and_validate; off when rounds > 1",
    ),
    _case("scenetest.sanitizer", str, "ruler", "sanitizers of the native build", "KernelCompiler._sanitizers"),
    _case("scenetest.rounds", int, "context", "rounds asked for", "argument of _run_and_validate"),
    _case(
        "scenetest.cpu.pressure",
        float,
        "context",
        "share of the case's time in which some task waited for a CPU, 0 to 1",
        "total of /proc/pressure/cpu at its two ends",
    ),
)

CONDITIONS: Final = {condition.attribute: condition for condition in (*_TORCH, *_HARNESS, *_HOST, *_CASE)}
"""Every condition by its attribute, in the order in which they are shown."""

RULER: Final = tuple(condition.attribute for condition in CONDITIONS.values() if condition.use == "ruler")
"""Attributes that must be equal before two timings may be compared."""


def ruler(process: Mapping[str, Value], case: Mapping[str, Value]) -> str:
    """Return `scenetest.ruler`: a short hash over the ruler conditions in force at a dispatch.

    Args:
        process: conditions of the process in force at the dispatch.
        case: attributes of its case; empty outside any case.

    Returns:
        Twelve hexadecimal digits, equal exactly when all ruler conditions are; `UNKNOWN` when one of them is, or was
        not recorded.
    """
    present = [(key, found) for key in RULER if (found := process.get(key, case.get(key))) is not None]
    if any(found in (UNKNOWN, NOT_RECORDED) for _, found in present):
        return UNKNOWN
    text = "\n".join(f"{key}={type(found).__name__}:{found!r}" for key, found in present)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12]
