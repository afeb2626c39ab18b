"""The Resource of a measured process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opentelemetry.instrumentation.scenetest.deliver.resources import resource
from opentelemetry.instrumentation.scenetest.rundir.process import ProcessRecord

FACTS: dict[str, Any] = {
    "pid": 20,
    "parent_pid": 10,
    "host": "box",
    "start_ticks": 7,
    "command": ["python", "test.py"],
    "executable": "/usr/bin/python",
    "python": "3.11.2",
}
CONDITIONS = {"torch.imported": True, "scenetest.harness.path": "/src/simpler"}
RUN: dict[str, Any] = {"id": "ab", "name": "first", "dirty": {"/src/simpler": True}}


def attributes(run: dict[str, Any] = RUN, **facts: str) -> dict[str, Any]:
    return dict(resource(ProcessRecord(Path("20-a.jsonl"), {**FACTS, **facts}, {}), CONDITIONS, run).attributes)


def test_the_resource_of_a_process() -> None:
    found = attributes()
    assert (found.pop("telemetry.sdk.version"), found.pop("telemetry.distro.version")) != ("", "")
    assert found == {
        "service.name": "scenetest",
        "service.instance.id": "box:20:7",
        "telemetry.sdk.language": "python",
        "telemetry.sdk.name": "opentelemetry",
        "telemetry.distro.name": "opentelemetry-instrumentation-scenetest",
        "process.pid": 20,
        "process.parent_pid": 10,
        "process.executable.path": "/usr/bin/python",
        "process.command_line": "python test.py",
        "process.runtime.name": "cpython",
        "process.runtime.version": "3.11.2",
        "scenetest.run.id": "ab",
        "scenetest.run.name": "first",
        "scenetest.harness.dirty": True,
        **CONDITIONS,
    }


def test_a_checkout_that_git_told_nothing_about_is_neither_dirty_nor_clean() -> None:
    assert "scenetest.harness.dirty" not in attributes({"dirty": {"/src/other": True}})
    assert "scenetest.harness.dirty" not in attributes({})


def test_attributes_of_the_user_are_kept_and_never_override_a_condition() -> None:
    given = "team=a%20b, torch.imported=no,broken,=x,service.name=from-attributes"
    found = attributes(resource_attributes=given)
    assert found["team"] == "a b"
    assert found["torch.imported"] is True
    assert found["service.name"] == "from-attributes"
    assert attributes(resource_attributes=given, service_name="from-variable")["service.name"] == "from-variable"
