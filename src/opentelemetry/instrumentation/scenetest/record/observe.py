"""What the process can tell about itself: its identity and every condition but torch's.

Nothing here imports what it observes, calls into a device or changes anything; a fact that can't be read is `unknown`.
"""

from __future__ import annotations

import os
import stat
import sys
from functools import lru_cache
from time import monotonic_ns, time_ns

from opentelemetry.instrumentation.scenetest import journal, logline
from opentelemetry.instrumentation.scenetest.conditions import READ_BY_NOTHING, UNKNOWN, VARIABLES, raw_attribute
from opentelemetry.instrumentation.scenetest.record import autoload, faults, harness
from opentelemetry.instrumentation.scenetest.record.files import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.instrumentation.scenetest.conditions import Value

_DEVICE_FILES = ("/dev/davinci", "/dev/devmm_svm", "/dev/hisi_hdc", "/dev/nvidia", "/dev/kfd", "/dev/dri/render")
_TIMING = 25
_LOG_LEVELS = ((10, "debug"), (20, "info"), (_TIMING, "timing"), (30, "warn"), (40, "error"))

_noted: dict[str, Value] = {}


def conditions() -> dict[str, Value]:
    """Return every condition of the process as it is now."""
    if not _noted:
        note_worker_init()
    torch = autoload.observe()
    if torch.get("torch.imported") is True:
        torch["torch.num_threads"] = _torch_threads()
    return {**torch, **_noted, **_harness(), "scenetest.stderr": _stderr(), **_host()}


def note_worker_init() -> None:
    """Note what the harness takes a snapshot of in `Worker.init`, at its entry; else this is done at the first case."""
    files = _noted.get("scenetest.device_files")  # a later Worker would find those that the first one opened
    _noted.clear()
    _noted["scenetest.device_files"] = _device_files() if files is None else files
    if "simpler.worker" in sys.modules:
        _noted["scenetest.log_level"] = _log_level()
        _noted.update(_variables())


def identity() -> dict[str, object]:
    """Return the fields of the `process` line beside the conditions."""
    return {
        "pid": os.getpid(),
        "parent_pid": os.getppid(),
        "start_ticks": journal.start_ticks(os.getpid()),
        "host": os.uname().nodename,
        "boot_id": read("/proc/sys/kernel/random/boot_id"),
        "anchor": {"monotonic_ns": monotonic_ns(), "unix_ns": time_ns()},
        "command": sys.orig_argv,
        "executable": sys.executable,
        "python": ".".join(map(str, sys.version_info[:3])),
        "service_name": os.environ.get("OTEL_SERVICE_NAME"),
        "resource_attributes": os.environ.get("OTEL_RESOURCE_ATTRIBUTES"),
    }


def log(found: Mapping[str, Value]) -> None:
    """Write the line that the harness's users know, unless the harness writes it itself.

    On the harness's own logger: loggers of its modules drop level TIMING. Where nobody imported `logging`, nobody set
    it up, and it would print nothing of this level.
    """
    scene_test = sys.modules.get("simpler_setup.scene_test")
    if hasattr(scene_test, "log_torch_backend_autoload_once"):
        return
    logging = faults.loaded_logging()
    if logging is not None:
        logging.getLogger("simpler").log(_TIMING, "%s", logline.log_line(found))


def cpu_model() -> str:
    """Return the model of the CPU, `unknown` where the kernel does not tell."""
    fields: dict[str, str] = {}
    for line in read("/proc/cpuinfo").split("\n"):
        key, _, text = line.partition(":")
        fields.setdefault(key.strip(), text.strip())
    # An Arm CPU has no model name there, but these two numbers name it.
    arm = [fields[key] for key in ("CPU implementer", "CPU part") if key in fields]
    return fields.get("model name") or " ".join(arm) or UNKNOWN


def cpu_pressure() -> int | None:
    """Return for how many microseconds since boot some task waited for a CPU; None where the kernel does not tell."""
    text = read("/proc/pressure/cpu")
    total = text.partition("total=")[2].split("\n", 1)[0]
    return int(total) if total.isdigit() else None


def cpu_pressure_since(before: int | None, duration_ns: int) -> dict[str, Value]:
    """Return `scenetest.cpu.pressure` of the time since an earlier `cpu_pressure()`."""
    now = cpu_pressure()
    if before is None or now is None or duration_ns <= 0:
        return {"scenetest.cpu.pressure": UNKNOWN}
    return {"scenetest.cpu.pressure": round(min(1.0, (now - before) * 1000 / duration_ns), 4)}


def _torch_threads() -> Value:
    try:
        return int(sys.modules["torch"].get_num_threads())
    except Exception as error:  # a stand-in, for example, that has a version and little else
        faults.swallow("ask torch for its threads", error)
        return UNKNOWN


def _harness() -> dict[str, Value]:
    try:
        return harness.facts()
    except Exception as error:
        faults.swallow("tell which harness this is", error)
        return {}


def _variables() -> dict[str, Value]:
    found: dict[str, Value] = {}
    for variable in VARIABLES:
        effective = variable.parse(os.environ.get(variable.name))
        if effective is not None:
            found[variable.attribute] = effective
    for name in (*(variable.name for variable in VARIABLES), *READ_BY_NOTHING):
        if name in os.environ:
            found[raw_attribute(name)] = os.environ[name]
    return found


def _log_level() -> Value:
    # simpler/_log.py, _normalize_threshold: rounded up to the harness's own ladder
    logging = faults.loaded_logging()
    if logging is None:
        return UNKNOWN
    threshold = logging.getLogger("simpler").getEffectiveLevel()
    return next((name for level, name in _LOG_LEVELS if threshold <= level), "null")


def _device_files() -> Value:
    try:
        targets = {os.readlink(entry.path) for entry in os.scandir("/proc/self/fd") if entry.is_symlink()}
    except OSError:
        return UNKNOWN
    return ",".join(sorted(target for target in targets if target.startswith(_DEVICE_FILES)))


def _stderr() -> Value:
    try:
        status = os.fstat(2)
    except OSError:
        return "closed"
    if stat.S_ISCHR(status.st_mode):
        return "tty" if os.isatty(2) else "null"
    kinds = ((stat.S_ISREG, "file"), (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"))
    return next((name for test, name in kinds if test(status.st_mode)), UNKNOWN)


@lru_cache(maxsize=1)
def _host() -> dict[str, Value]:
    host = os.uname()
    cpus = sorted(os.sched_getaffinity(0))
    found: dict[str, Value] = {
        "host.arch": host.machine,
        "host.cpu.model.name": cpu_model(),
        "scenetest.cpus": _ranges(cpus),
        "host.name": host.nodename,
        "scenetest.boot_id": read("/proc/sys/kernel/random/boot_id") or UNKNOWN,
    }
    governors = {read(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor") for cpu in cpus} - {""}
    if governors:
        found["scenetest.cpu.governor"] = ",".join(sorted(governors))
    return found


def _ranges(numbers: list[int]) -> str:
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))
