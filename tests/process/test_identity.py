"""A process has one identity, that of its own tracer provider, no matter when it sets the provider."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.scripts import PROGRAMS, record, run_script

from opentelemetry.instrumentation.scenetest.deliver import spans


@pytest.mark.parametrize("when", ["between", "last"])
def test_a_provider_that_is_set_later_names_all_spans_of_its_process(when: str, tmp_path: Path) -> None:
    run = record(PROGRAMS / "otel/late_identity.py", tmp_path, when, env={"OTEL_SERVICE_NAME": "launched"})
    found = [span.resource.attributes for span in spans.of_run(run.path, run.facts)]
    assert len(found) == (2 if when == "last" else 4)
    own = {"service.name": "own", "service.instance.id": "seven", "deployment.environment.name": "lab"}
    for one in found:
        assert {key: one[key] for key in own} == own


def test_the_name_is_written_again_only_when_it_changed(tmp_path: Path) -> None:
    run = record(
        """
        import os
        instrument()
        for name in ("one", "one", "two"):
            os.environ["OTEL_SERVICE_NAME"] = name
            with case("S", "c"): pass
        del os.environ["OTEL_SERVICE_NAME"]
        """,
        tmp_path,
        env={"OTEL_SERVICE_NAME": "one"},
    )
    (process,) = run.processes
    lines = map(json.loads, process.record.path.read_text().splitlines())
    named = [line.get("service_name") for line in lines if line["kind"] in ("process", "service")]
    assert named == ["one", "two", None]
    assert process.record.torn_lines == 0
    for span in spans.of_run(run.path, run.facts):
        assert span.resource.attributes["service.name"] == "scenetest"


def test_a_provider_that_only_the_environment_names_is_left_to_the_program_to_load(tmp_path: Path) -> None:
    done = run_script(
        """
        import sys
        from opentelemetry import trace
        instrument()
        with case("S", "c"): pass
        assert trace._TRACER_PROVIDER is None
        assert "opentelemetry.sdk.trace" not in sys.modules
        """,
        env={"OTEL_PYTHON_TRACER_PROVIDER": "sdk_tracer_provider", "SCENETEST_OTEL_DIR": str(tmp_path)},
    )
    assert (done.returncode, done.stderr) == (0, "")
