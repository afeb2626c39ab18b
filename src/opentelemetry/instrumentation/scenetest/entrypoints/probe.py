"""The program that `scenetest-otel doctor` runs in another interpreter, as `python -c` with the text of this file.

That interpreter may lack this package, or have an unsupported version. So only the standard library is imported at the
top, and a question that fails gets no answer.

Arguments: the file for the answers, which are JSON; and `import` to import torch.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = "opentelemetry.instrumentation.scenetest"
VARIABLE = "TORCH_DEVICE_BACKEND_AUTOLOAD"
JOINED = PACKAGE + ".entrypoints.join"


def _found(name: str) -> str | None:
    """Return where a module would be imported from; None if it can't be found."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    return spec.origin or next(iter(spec.submodule_search_locations or ()), None)


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _launched() -> str | None:
    """Return the value of the variable when this process was started; None if it was unset."""
    with open("/proc/self/environ", "rb") as file:
        entries = file.read().decode("utf-8", "backslashreplace").split("\0")
    values = [entry.partition("=")[2] for entry in entries if entry.startswith(VARIABLE + "=")]
    return values[0] if values else None


def _backends() -> list[str]:
    found = importlib.metadata.entry_points(group="torch.backends")
    return sorted({f"{one.dist.name if one.dist else one.name} ({one.value})" for one in found})


def _pth() -> list[str]:
    """Return every copy of our .pth on the module path. Python reads only those in a site directory."""
    places = [os.path.join(entry, "scenetest_otel.pth") for entry in sys.path if entry]
    return [place for place in places if os.path.isfile(place)]


def _harness() -> dict[str, object] | None:
    """Import the harness, which doesn't import torch, and return which hooks didn't find their target."""
    if not (_found("simpler") and _found("simpler_setup")):
        return None
    from opentelemetry.instrumentation.scenetest.harness import simpler

    return {"from": _found("simpler"), "missing": simpler.missing_hooks()}


def _torch() -> dict[str, object]:
    failed = None
    try:
        importlib.import_module("torch")
    except Exception as error:
        failed = f"{type(error).__name__}: {error}"
    from opentelemetry.instrumentation.scenetest.record import autoload

    return {"failed": failed, "conditions": autoload.observe()}


def main() -> None:
    """Answer every question that can be answered."""
    answers: dict[str, object] = {}
    faults: dict[str, str] = {}
    questions: dict[str, Callable[[], object]] = {
        "executable": lambda: sys.executable,
        "python": platform.python_version,
        "no_site": lambda: bool(sys.flags.no_site),
        "joined": lambda: JOINED in sys.modules,
        "package": lambda: _found(PACKAGE),
        "version": lambda: _version("opentelemetry-instrumentation-scenetest"),
        "pth": _pth,
        "versions": lambda: {name: _version(name) for name in ("opentelemetry-api", "torch", "torch_npu", "pytest")},
        "launched": _launched,
        "setting": lambda: os.environ.get(VARIABLE),
        "backends": _backends,
        "harness": _harness,
    }
    if "import" in sys.argv[2:]:
        questions["torch"] = _torch
    for name, ask in questions.items():
        try:
            answers[name] = ask()
        except Exception as error:
            faults[name] = f"{type(error).__name__}: {error}"
    with open(sys.argv[1], "w", encoding="ascii") as file:
        json.dump({**answers, "faults": faults}, file)


if __name__ == "__main__":
    main()
