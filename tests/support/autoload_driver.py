"""Runs one cell of the matrix in a fresh interpreter: `python autoload_driver.py CELL.json RESULT.json`.

The witness knows nothing of our code: a trace function sees torch call its own `_is_device_backend_autoload_enabled`,
and keeps what it returned and what the variable was at that moment.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType

VARIABLE = "TORCH_DEVICE_BACKEND_AUTOLOAD"

switch: list[dict[str, object]] = []
observed: list[dict[str, object]] = []
raised: list[str] = []


def watch_switch(frame: FrameType, event: str, arg: object) -> Any:
    """Trace function that notes each call of torch's own switch."""
    if frame.f_code.co_name != "_is_device_backend_autoload_enabled":
        return None
    call: dict[str, object] = {"variable": os.environ.get(VARIABLE)}

    def at_return(frame: FrameType, event: str, arg: object) -> Any:
        if event == "return":
            switch.append({**call, "returned": arg})
        return at_return

    return at_return


def state_of(name: str) -> str:
    """Return the state of a module in `sys.modules`."""
    module = sys.modules.get(name)
    if module is None:
        return "absent"
    return "initializing" if getattr(module.__spec__, "_initializing", False) else "complete"


def attempt(action: Callable[..., object], *arguments: object) -> None:
    """Call a function, and keep the exception that it raises, if any."""
    try:
        action(*arguments)
    except BaseException as error:
        raised.append(f"{type(error).__name__}: {error}")


def wipe_launch_environment() -> None:
    """Overwrite the memory behind /proc/self/environ, as `setproctitle` does."""
    # proc(5): fields 50 and 51 of stat are env_start and env_end; 2 is in parentheses and may hold blanks.
    fields = Path("/proc/self/stat").read_text("utf-8").rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])
    ctypes.memset(start, 0, end - start)


@contextmanager
def paused_import(name: str, *, at: str) -> Generator[None]:
    """Import a module in another thread, and run the body while that thread begins to execute the module `at`."""
    reached, resume = threading.Event(), threading.Event()

    # Not in a finder: those are called under the import lock of the whole process.
    def pause_or_watch(frame: FrameType, event: str, arg: object) -> Any:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == at:
            reached.set()
            resume.wait()
        return watch_switch(frame, event, arg)

    def work() -> None:
        sys.settrace(pause_or_watch)
        attempt(__import__, name)
        reached.set()

    thread = threading.Thread(target=work)
    thread.start()
    reached.wait()
    yield
    resume.set()
    thread.join()


def main() -> None:
    """Run the program of the cell."""
    cell_file, result_file = sys.argv[1:]
    with open(cell_file, encoding="utf-8") as file:
        cell = json.load(file)
    from opentelemetry.instrumentation.scenetest.record import autoload

    def observe() -> None:
        fingerprint = repr(autoload.fingerprint())
        modules = {name: state_of(name) for name in ("torch", "torch_npu")}
        observed.append(
            {
                "fingerprint": fingerprint,
                "conditions": autoload.observe(),
                "modules": modules,
                "variable": os.environ.get(VARIABLE),
            }
        )

    def try_import(name: str) -> None:
        attempt(__import__, name)

    helpers: dict[str, object] = {
        "install": lambda: autoload.install(lambda: None),
        "uninstall": autoload.uninstall,
        "observe": observe,
        "try_import": try_import,
        "attempt": attempt,
        "wipe_launch_environment": wipe_launch_environment,
        "paused_import": paused_import,
    }
    sys.settrace(watch_switch)
    exec(compile("\n".join(cell["program"]), cell["name"], "exec"), {"__name__": "__main__", **helpers})
    sys.settrace(None)
    with open(result_file, "w", encoding="utf-8") as file:
        json.dump({"observed": observed, "raised": raised, "switch": switch}, file)


if __name__ == "__main__":
    main()
