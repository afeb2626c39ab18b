"""The finder doesn't change the program: it behaves the same with and without it."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from support.autoload_cells import interpreter_environment
from support.torch_backends import install_backends

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import json, os, sys, traceback, warnings

instrumented = "instrument" in sys.argv
if instrumented:
    from opentelemetry.instrumentation.scenetest import instrument
    instrument()

seen = {"frames": None, "before": sorted(sys.modules)}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        import torch
    except BaseException as error:
        seen["frames"] = "".join(traceback.format_exception(error))
seen["warnings"] = sorted(str(warning.message) for warning in caught)
seen["environment"] = {name: value for name, value in os.environ.items() if name != "SCENETEST_OTEL_RUN"}
ours = "opentelemetry.instrumentation.scenetest"
seen["added"] = sorted(name for name in set(sys.modules) - set(seen["before"]) if not name.startswith(ours))
torch = sys.modules.get("torch")
if torch is not None:
    import inspect
    seen["source"] = inspect.getsource(torch)
    spec = torch.__spec__
    seen["spec"] = [spec.name, spec.origin, spec.cached, list(spec.submodule_search_locations)]
    seen["loader"] = type(torch.__loader__).__qualname__
    seen["attributes"] = sorted(vars(torch))
with open(sys.argv[1], "w") as file:
    json.dump(seen, file)
print("done")
print("done", file=sys.stderr)
import torch
"""

Both = dict[str, tuple[dict[str, Any], dict[str, Any]]]

BACKENDS = ["none", "loads", "raises RuntimeError", "raises when called", "torch_npu 2.12.0", "torch_npu 2.13.0"]


def outcome_of(backend: str, folder: Path, *arguments: str) -> dict[str, Any]:
    """Run the program and return what it saw of itself and what it left: exit code and output."""
    (folder / "program.py").write_text(PROGRAM, "utf-8")
    install_backends([] if backend == "none" else [backend], folder / "backends")
    environment = {**interpreter_environment(folder), "SCENETEST_OTEL_DIR": str(folder / "store")}
    name = f"seen-{len(arguments)}.json"
    command = [sys.executable, "program.py", name, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    seen = json.loads((folder / name).read_text("utf-8"))
    return {**seen, "exit code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """For each backend the outcome without and with the observer; the folder is the same, as its name is in frames."""
    folders = {backend: tmp_path_factory.mktemp("both") for backend in BACKENDS}

    def pair(backend: str) -> tuple[dict[str, Any], dict[str, Any]]:
        folder = folders[backend]
        return outcome_of(backend, folder), outcome_of(backend, folder, "instrument")

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(BACKENDS, pool.map(pair, BACKENDS), strict=True))


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_import_of_torch_adds_the_same_modules(backend: str, both: Both) -> None:
    without, with_observer = both[backend]
    # Since Python 3.13, importlib.metadata imports these when the name of a distribution is read.
    added = {name for name in with_observer["added"] if not name.startswith("importlib.metadata._")}
    expected = {name for name in without["added"] if not name.startswith("importlib.metadata._")}
    assert added == expected - set(with_observer["before"])


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_exception_has_the_same_frames(backend: str, both: Both) -> None:
    without, with_observer = both[backend]
    assert (without["frames"] is not None) == backend.startswith("raises")
    assert with_observer["frames"] == without["frames"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_environment_source_spec_loader_warnings_output_and_exit_code_are_the_same(backend: str, both: Both) -> None:
    without, with_observer = both[backend]
    different = {name for name in without if with_observer.get(name) != without[name]}
    assert with_observer.keys() == without.keys()
    assert different <= {"before", "added"}
