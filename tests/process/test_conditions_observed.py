"""Each condition that affects timing is changed in a real process, and the change is recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.scripts import PREAMBLE, clean_environment, only_process, only_run, record

from opentelemetry.instrumentation.scenetest.conditions.values import Value

CASE = "instrument()\nwith case('S', 'c'), dispatch(): pass"


def conditions_of(store: Path) -> dict[str, Value]:
    (only,) = only_process(only_run(store)).cases
    return only.span.conditions


def run_python(store: Path, *options: str, before: str = "", env: dict[str, str] | None = None) -> None:
    script = store / "script.py"
    store.mkdir(exist_ok=True)
    script.write_text(PREAMBLE + before + CASE)
    environment = clean_environment(SCENETEST_OTEL_DIR=str(store / "runs"), **(env or {}))
    subprocess.run([sys.executable, *options, str(script)], env=environment, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("options", "before", "env", "attribute", "expected"),
    [
        ((), "", {}, "process.runtime.version", ".".join(map(str, sys.version_info[:3]))),
        ((), "", {}, "process.runtime.name", "cpython"),
        (("-O",), "", {}, "scenetest.python.optimize", 1),
        (("-X", "dev"), "", {}, "scenetest.python.dev_mode", True),
        ((), "import sys\nsys.settrace(lambda *_: None)\n", {}, "scenetest.python.tracing", "trace"),
        ((), "import gc\ngc.disable()\n", {}, "scenetest.python.gc", "off"),
        ((), "", {"PYTHONHASHSEED": "7"}, "scenetest.python.hash_seed", "7"),
        (("-E",), "", {"PYTHONMALLOC": "malloc"}, "scenetest.allocator", "default"),
        ((), "", {"PYTHONMALLOC": "malloc"}, "scenetest.allocator", "PYTHONMALLOC=malloc"),
        ((), "", {"MALLOC_ARENA_MAX": "1"}, "scenetest.allocator", "MALLOC_ARENA_MAX=1"),
        ((), "import os\nos.nice(3)\n", {}, "scenetest.nice", os.getpriority(os.PRIO_PROCESS, 0) + 3),
        (
            (),
            "import os\nos.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\n",
            {},
            "scenetest.scheduler",
            "batch",
        ),
    ],
)
def test_what_is_set_is_recorded(
    options: tuple[str, ...], before: str, env: dict[str, str], attribute: str, expected: Value, tmp_path: Path
) -> None:
    run_python(tmp_path, *options, before=before, env=env)
    assert conditions_of(tmp_path / "runs")[attribute] == expected


def test_a_profiler_in_one_arm_only_is_another_ruler(tmp_path: Path) -> None:
    run_python(tmp_path / "plain")
    run_python(tmp_path / "profiled", "-m", "cProfile")
    plain, profiled = (only_process(only_run(tmp_path / name / "runs")).cases[0] for name in ("plain", "profiled"))
    assert plain.span.conditions["scenetest.python.tracing"] == ""
    assert profiled.span.conditions["scenetest.python.tracing"] in ("profile", "monitoring cProfile")
    assert plain.dispatches[0].ruler != profiled.dispatches[0].ruler


def test_a_preloaded_library_is_recorded_by_effect(tmp_path: Path) -> None:
    source, library = tmp_path / "empty.c", tmp_path / "libpreloaded.so"
    source.write_text("int scenetest_preloaded;")
    subprocess.run(["cc", "-shared", "-o", library, source], check=True)
    run_python(tmp_path, env={"LD_PRELOAD": f"{library}:/nowhere/libmissing.so"})
    assert conditions_of(tmp_path / "runs")["scenetest.preload"] == "libpreloaded.so"


def test_settings_of_torch_are_part_of_the_ruler(tmp_path: Path) -> None:
    run = record(
        """
        import torch
        torch.set_float32_matmul_precision("high")
        torch.use_deterministic_algorithms(True)
        torch.set_num_interop_threads(3)
        instrument()
        with case("S", "c"), dispatch(): pass
        """,
        tmp_path,
    )
    found = only_process(run).cases[0].span.conditions
    assert found["torch.float32_matmul_precision"] == "high"
    assert found["torch.deterministic_algorithms"] is True
    assert found["torch.num_interop_threads"] == 3


def test_a_case_says_how_busy_the_machine_was_and_how_large_the_process_became(tmp_path: Path) -> None:
    run = record(CASE, tmp_path)
    attributes = only_process(run).cases[0].span.attributes
    assert isinstance(attributes["scenetest.load.average"], float)
    assert int(attributes["scenetest.load.running"]) >= 1
    assert int(attributes["scenetest.memory.free"]) > 0
    assert int(attributes["scenetest.memory.peak"]) > 1 << 20


def test_a_plain_process_knows_every_condition_of_the_ruler(tmp_path: Path) -> None:
    run = record("import torch\n" + CASE, tmp_path)
    (recorded,) = only_process(run).cases
    unknown = [key for key, value in recorded.span.conditions.items() if value == "unknown"]
    assert unknown == []
    assert recorded.dispatches[0].ruler != "unknown"
