"""Starts the watcher, which delivers the run after its end.

The process that made the run holds a lock on the run's own file for as long as it lives. The watcher waits for that
lock, and for those of all journals, in a process of its own.
"""

from __future__ import annotations

import os
import sys

from opentelemetry.instrumentation.scenetest import destination, faults
from opentelemetry.instrumentation.scenetest.conditions.files import launch_environment
from opentelemetry.instrumentation.scenetest.rundir import layout, liveness, writer

_FILES = ("CERTIFICATE", "CLIENT_KEY")
"""Suffixes of OTLP variables that hold file paths."""
STRAGGLER_SECONDS = 60
"""How long processes may outlive the one that made the run before the rest of it is delivered."""
_START_SECONDS = 5
"""How long to wait for the watcher: `sys.executable` of an embedded Python may be any program."""
_PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"
_TOOL = "opentelemetry.instrumentation.auto_instrumentation"
_OTHERS_SITE = os.path.join("opentelemetry", "instrumentation", "auto_instrumentation")


class _Held:
    """Owns the lock on `run.json` that this process holds: the file's descriptor and identity."""

    run_file: tuple[int, writer.Identity | None] | None = None


_held = _Held()


def hold(directory: str) -> None:
    """Lock `run.json` unless its creator holds it. After `exec` we may be the creator."""
    try:
        descriptor = writer.open_apart(os.path.join(directory, layout.RUN_FILE), os.O_RDWR)
    except OSError:
        return
    if liveness.try_lock(descriptor):
        _held.run_file = descriptor, writer.identity(descriptor)
    else:
        os.close(descriptor)


def release() -> None:
    """Let go of the run; in a forked child, of the descriptor that it inherited."""
    if _held.run_file is not None:
        writer.close_own(*_held.run_file)
        _held.run_file = None


def start(directory: str) -> None:
    """Start the watcher of a run, unless it has one or there is nowhere to send spans to. Takes some 15 ms."""
    if not destination.has_endpoint() or not sys.executable or is_later(directory) or is_watched(directory):
        return
    from subprocess import DEVNULL, Popen, TimeoutExpired

    script = os.path.join(os.path.dirname(os.path.dirname(__file__)), "deliver", "watcher.py")
    try:
        starter = Popen(
            [sys.executable, "-I", "-S", script, directory, str(STRAGGLER_SECONDS)],
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=DEVNULL,
            cwd="/",
            env=_environment(),
            start_new_session=True,
        )
        # It ends as soon as its child watches; reaped here, no wait() of the host ever meets it.
        try:
            starter.wait(_START_SECONDS)
        except TimeoutExpired:
            starter.kill()
            starter.wait()
            raise
    except (OSError, TimeoutExpired) as error:
        faults.swallow("start the process that delivers", error)


def is_later(directory: str) -> bool:
    """Tell whether somebody delivers the run later, so that no other run is disturbed."""
    return os.path.exists(os.path.join(directory, layout.DELIVERY_LATER))


def is_watched(directory: str) -> bool:
    """Tell whether another process delivers a run, or waits for its end to do so."""
    try:
        return liveness.is_written(os.path.join(directory, layout.DELIVERY_LOCK))
    except OSError:
        return False


def _environment() -> dict[str, str]:
    """Return an environment in which no Python instruments itself, and the working directory says nothing."""
    environment = {key: value for key, value in os.environ.items() if key != layout.RUN_VARIABLE}
    for name in environment:
        if environment[name] and "_OTLP_" in name and name.endswith(_FILES):
            environment[name] = os.path.abspath(environment[name])
    if _PROTOCOL in environment and _is_of_distro(_PROTOCOL):
        del environment[_PROTOCOL]
    if sys.flags.ignore_environment:
        # What this Python was told not to read (-E, -I) is nothing for theirs.
        environment = {name: value for name, value in environment.items() if not name.startswith("PYTHON")}
    path = environment.get("PYTHONPATH", "").split(os.pathsep)
    kept = [os.path.abspath(entry) for entry in path if entry and not entry.rstrip(os.sep).endswith(_OTHERS_SITE)]
    # If `sys.executable` is a frozen program, this starts it again: then it is to record nothing.
    return {**environment, "PYTHONPATH": os.pathsep.join(kept), "OTEL_SDK_DISABLED": "true"}


def _is_of_distro(name: str) -> bool:
    """Tell whether `opentelemetry-instrument` set a variable, whose default knows nothing of the port."""
    if _TOOL not in sys.modules:
        return False
    launch = launch_environment()
    return launch is not None and name not in launch


os.register_at_fork(after_in_child=release)
