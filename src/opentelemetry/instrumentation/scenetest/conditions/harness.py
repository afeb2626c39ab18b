"""Conditions of the harness: its variables, its build, and what it writes to inside the timed region."""

from __future__ import annotations

import os
import stat
from typing import Final, NamedTuple

from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.conditions.condition import Condition, Seen
from opentelemetry.instrumentation.scenetest.conditions.values import UNKNOWN, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_SIMPLER = "simpler"
_DEVICE_FILES = ("/dev/davinci", "/dev/devmm_svm", "/dev/hisi_hdc", "/dev/nvidia", "/dev/kfd", "/dev/dri/render")
_LOG_LEVELS = ((10, "debug"), (20, "info"), (25, "timing"), (30, "warn"), (40, "error"))


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


def _told(attribute: str) -> Callable[[Seen], Value | None]:
    """Return the observer of what the harness tells of itself."""
    return lambda seen: seen.harness.get(attribute)


def _effective(variable: Variable) -> Callable[[Seen], Value | None]:
    return lambda seen: variable.parse(os.environ.get(variable.name)) if seen.harness_name == _SIMPLER else None


def _as_set(name: str) -> Callable[[Seen], Value | None]:
    return lambda seen: os.environ.get(name) if seen.harness_name == _SIMPLER else None


def _device_files(_: Seen) -> Value:
    try:
        targets = {os.readlink(entry.path) for entry in os.scandir("/proc/self/fd") if entry.is_symlink()}
    except OSError:
        return UNKNOWN
    return ",".join(sorted(target for target in targets if target.startswith(_DEVICE_FILES)))


def _log_level(seen: Seen) -> Value | None:
    if seen.harness_name != _SIMPLER:
        return None
    # simpler/_log.py, _normalize_threshold: rounded up to the harness's own ladder
    logging = faults.loaded_logging()
    if logging is None:
        return UNKNOWN
    threshold = logging.getLogger("simpler").getEffectiveLevel()
    return next((name for level, name in _LOG_LEVELS if threshold <= level), "null")


def _stderr(_: Seen) -> Value:
    try:
        status = os.fstat(2)
    except OSError:
        return "closed"
    if stat.S_ISCHR(status.st_mode):
        return "tty" if os.isatty(2) else "null"
    kinds = ((stat.S_ISREG, "file"), (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"))
    return next((name for test, name in kinds if test(status.st_mode)), UNKNOWN)


HARNESS: Final = (
    Condition(
        "scenetest.device_files",
        str,
        "process",
        "context",
        meaning="accelerator device files held open, comma-separated; empty for none",
        observed="/proc/self/fd at entry of Worker.init, before the harness opens its own, else at the first case",
        observe=_device_files,
        moment="worker_init",
    ),
    Condition(
        "scenetest.stderr",
        str,
        "process",
        "ruler",
        meaning="what fd 2 is: `file`, `pipe`, `tty`, `null`, `socket` or `closed`; native markers are written to it "
        "inside the timed region",
        observed="fstat of fd 2 before the first dispatch",
        why="native markers are written to it inside the timed region: a bind of 31 us with a file takes 52 with a "
        "pipe, 73 with a terminal",
        observe=_stderr,
    ),
    Condition(
        "scenetest.log_level",
        str,
        "process",
        "ruler",
        meaning="effective level of logger `simpler`: `debug`, `info`, `timing`, `warn`, `error` or `null`",
        observed="the logger, at Worker.init (simpler/_log.py takes its snapshot there)",
        why="it decides which native markers are written inside the timed region",
        observe=_log_level,
        moment="worker_init",
    ),
    *(
        Condition(
            variable.attribute,
            variable.type,
            "process",
            "ruler",
            meaning=f"effective value of {variable.name}: {variable.rule}",
            observed="os.environ at Worker.init, else at the first case",
            why=f"{variable.name} changes what the native code does or records ({variable.rule})",
            observe=_effective(variable),
            moment="worker_init",
        )
        for variable in VARIABLES
    ),
    *(
        Condition(
            raw_attribute(name),
            str,
            "process",
            "context",
            meaning=f"{name} as it is set; absent when it is not",
            observed="os.environ",
            observe=_as_set(name),
            moment="worker_init",
        )
        for name in (*(variable.name for variable in VARIABLES), *READ_BY_NOTHING)
    ),
    Condition(
        "scenetest.native.build_ids",
        str,
        "process",
        "context",
        meaning="GNU build ids of the harness's native libraries as `name=id`, comma-separated",
        observed="ELF notes of the files mapped by the process",
        observe=_told("scenetest.native.build_ids"),
    ),
    Condition(
        "scenetest.harness.path",
        str,
        "process",
        "context",
        meaning="the checkout that holds the harness",
        observed="the nearest parent of simpler_setup's source with a .git",
        observe=_told("scenetest.harness.path"),
    ),
    Condition(
        "scenetest.harness.dirty",
        bool,
        "process",
        "context",
        meaning="a tracked file of that checkout differed from its commit",
        observed="git status, asked by `scenetest-otel run` when the run had ended",
    ),
    Condition(
        "vcs.ref.head.revision",
        str,
        "process",
        "context",
        meaning="commit of the checkout that holds the harness",
        observed=".git/HEAD of that checkout",
        observe=_told("vcs.ref.head.revision"),
    ),
    Condition(
        "vcs.ref.head.name",
        str,
        "process",
        "context",
        meaning="branch of the checkout that holds the harness",
        observed=".git/HEAD",
        observe=_told("vcs.ref.head.name"),
    ),
)
