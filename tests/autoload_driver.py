"""Runs one cell of the matrix in a fresh interpreter: `python autoload_driver.py CELL.json RESULT.json`.

The witness knows nothing of our code: a trace function sees torch call its own `_is_device_backend_autoload_enabled`,
and keeps what it returned and what the variable was at that moment.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

VARIABLE = "TORCH_DEVICE_BACKEND_AUTOLOAD"

switch: list[dict[str, object]] = []
observed: list[dict[str, object]] = []
raised: list[str] = []


def watch_switch(frame: FrameType, event: str, arg: object) -> Any:
    """Trace function: note each call of torch's own switch."""
    if frame.f_code.co_name != "_is_device_backend_autoload_enabled":
        return None
    call: dict[str, object] = {"variable": os.environ.get(VARIABLE)}

    def at_return(frame: FrameType, event: str, arg: object) -> Any:
        if event == "return":
            switch.append({**call, "returned": arg})
        return at_return

    return at_return


def state_of(name: str) -> str:
    """What `sys.modules` itself says of a module."""
    module = sys.modules.get(name)
    if module is None:
        return "absent"
    return "initializing" if getattr(module.__spec__, "_initializing", False) else "complete"


def main() -> None:
    """Run the program of the cell; its helpers are `install`, `observe` and `try_import`."""
    cell_file, result_file = sys.argv[1:]
    with open(cell_file, encoding="utf-8") as file:
        cell = json.load(file)
    from opentelemetry.instrumentation.scenetest.record import autoload

    def observe() -> None:
        at_once = {"torch": state_of("torch"), "torch_npu": state_of("torch_npu")}
        observed.append({"conditions": autoload.observe(), "modules": at_once, "variable": os.environ.get(VARIABLE)})

    def try_import(name: str) -> None:
        try:
            __import__(name)
        except BaseException as error:
            raised.append(f"{type(error).__name__}: {error}")

    sys.settrace(watch_switch)
    names: dict[str, object] = {"__name__": "__main__", "install": autoload.install, "uninstall": autoload.uninstall}
    names.update(observe=observe, try_import=try_import)
    exec(compile("\n".join(cell["program"]), cell["name"], "exec"), names)
    sys.settrace(None)
    with open(result_file, "w", encoding="utf-8") as file:
        json.dump({"observed": observed, "raised": raised, "switch": switch}, file)


main()
