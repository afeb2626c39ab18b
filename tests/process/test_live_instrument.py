"""`opentelemetry-instrument`: alone it exports our spans; within a run, only the program's own spans."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.backends import Backend
from support.harness import HARNESS
from support.live import auto_instrumented
from support.scripts import clean_environment, only_run

from opentelemetry.instrumentation.scenetest.deliver import spans

PROGRAM = """
from opentelemetry import trace
from opentelemetry.instrumentation.scenetest import case, dispatch
with case("S", "c"):
    with dispatch():
        with trace.get_tracer("user").start_as_current_span("mine"): pass
"""


def test_alone_it_exports_cases_and_dispatches_with_their_conditions(tmp_path: Path) -> None:
    exported = auto_instrumented(PROGRAM, tmp_path, env={"XDG_STATE_HOME": str(tmp_path / "state")})
    assert list(exported) == ["mine", "dispatch S::c", "S::c"]
    assert exported["mine"]["parent_id"] == exported["dispatch S::c"]["context"]["span_id"]
    for name in ("dispatch S::c", "S::c"):
        attributes = exported[name]["attributes"]
        assert attributes["torch.imported"] is False
        assert attributes["torch.backend_autoload.outcome"] == "torch_not_imported"
        assert attributes["scenetest.stderr"] == "pipe"
    assert not (tmp_path / "state").exists()


def test_within_a_run_the_programs_own_spans_join_our_trace_and_ours_are_delivered_once(tmp_path: Path) -> None:
    store = tmp_path / "store"
    exported = auto_instrumented(PROGRAM, tmp_path, within=("run", "--dir", str(store), "--"))
    run = only_run(store)
    delivered = {span.name: span for span in spans.of_run(run.path, run.facts)}
    assert list(delivered) == ["dispatch S::c", "S::c", f"run {run.name}"]
    # The program's own exporter prints its span while it runs, `run` prints ours at the end.
    assert list(exported) == ["mine", *delivered]
    context = delivered["dispatch S::c"].context
    assert context is not None
    assert exported["mine"]["parent_id"] == f"0x{context.span_id:016x}"
    assert exported["mine"]["context"]["trace_id"] == f"0x{context.trace_id:032x}"


def test_dispatches_of_the_harness_reach_the_exporter_from_its_forked_workers_too(tmp_path: Path) -> None:
    driver = f"import runpy; runpy.run_path({str(HARNESS / 'scenes' / 'driver_l4.py')!r}, run_name='__main__')"
    exported = auto_instrumented(driver, tmp_path, env={"PYTHONPATH": str(HARNESS)})
    levels = {name: span["attributes"].get("scenetest.level") for name, span in exported.items()}
    assert levels == {
        "dispatch main.<locals>.run_network": 4,
        "dispatch main.<locals>.run_node": 3,
        "driver_l4.py": None,
    }


def test_an_endpoint_for_http_is_delivered_to_although_the_distro_means_grpc(tmp_path: Path, backend: Backend) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    tool = str(Path(sys.executable).with_name("opentelemetry-instrument"))
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": backend.url,
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
        "SCENETEST_OTEL_DIR": str(tmp_path / "store"),
        "SCENETEST_OTEL_EXIT_WAIT": "60",
    }
    done = subprocess.run(
        [tool, sys.executable, str(program)],
        env=clean_environment(**env),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(backend.taken) == 2, done.stderr
