"""The resource detector, on a provider that `opentelemetry-instrument` creates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.live import auto_instrumented
from support.scripts import PROGRAMS, run_script

from opentelemetry.instrumentation.scenetest.rundir import layout, run_file

PROGRAM = """
from opentelemetry import trace
with trace.get_tracer("user").start_as_current_span("mine"): pass
"""
DETECT = {"OTEL_EXPERIMENTAL_RESOURCE_DETECTORS": "scenetest"}
LAUNCH = {"torch.backend_autoload.captured": "at_launch"}


@pytest.mark.parametrize(
    ("environment", "setting"),
    [
        ({}, {"torch.backend_autoload.setting": "unset"}),
        ({"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}, {"torch.backend_autoload.setting": "0"}),
        (
            {"TORCH_DEVICE_BACKEND_AUTOLOAD": "x" * 65},
            {"torch.backend_autoload.setting": "x" * 64, "torch.backend_autoload.setting_truncated": True},
        ),
    ],
)
def test_the_resource_detector_adds_the_setting_at_launch_and_claims_nothing_of_what_torch_did(
    environment: Mapping[str, str], setting: Mapping[str, object], tmp_path: Path
) -> None:
    run = run_file.make_run(str(tmp_path), by="run", command=["program.py"], name="mine")
    exported = auto_instrumented(PROGRAM, tmp_path, env={**DETECT, "SCENETEST_OTEL_RUN": run, **environment})
    found = exported["mine"]["resource"]["attributes"]
    torch = {key: value for key, value in found.items() if key.startswith("torch")}
    assert torch == {**LAUNCH, **setting}
    facts = json.loads((Path(run) / layout.RUN_FILE).read_text())
    assert (found["scenetest.run.id"], found["scenetest.run.name"]) == (facts["id"], "mine")
    assert {"host.arch", "host.name", "host.cpu.model.name", "scenetest.boot_id"} <= found.keys()


def test_the_setting_is_unknown_where_the_program_has_changed_it_since_its_launch() -> None:
    done = run_script(
        """
        import os
        from opentelemetry.sdk.resources import Resource
        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        print(Resource.create().attributes["torch.backend_autoload.setting"])
        """,
        env=DETECT,
    )
    assert (done.stdout, done.stderr) == ("unknown\n", "")


def test_the_detector_is_quick_and_imports_nothing_while_it_runs() -> None:
    done = run_script(PROGRAMS / "resource_detector/detector_is_quick.py")
    assert (done.returncode, done.stderr) == (0, "")


def test_what_it_says_holds_in_a_forked_child_too() -> None:
    done = run_script(
        PROGRAMS / "resource_detector/detector_in_a_forked_child.py",
        env=DETECT,
    )
    assert (done.returncode, done.stderr) == (0, "")
