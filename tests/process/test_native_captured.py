"""Native markers in captured or redirected output (module runner, pytest, other files) are found."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support.harness import run_harness
from support.markers import strace
from support.runner import run as run_command
from support.scripts import PREAMBLE, clean_environment, only_run
from support.stack import Jaeger, attributes, eventually

from opentelemetry.instrumentation.scenetest.analyse.runs import Run
from opentelemetry.instrumentation.scenetest.deliver import delivery
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.native.of_run import Enclosing
from opentelemetry.instrumentation.scenetest.native.place import Placed
from opentelemetry.instrumentation.scenetest.rundir import logs

MARKING = """
import os, time
with case("TestVector", "default"):
    for inv in range(3):
        with dispatch():
            start, who = time.monotonic_ns(), f"pid={os.getpid()} tid=1 inv={inv}"
            text = f"[STRACE] v=1 {who} hid=0 depth=0 name=chip.run ts={start} dur=9"
            os.write(2, f"[mono_ns={start}][T0x1][TIMING] emit_host_span: {text} \\n".encode())
            time.sleep(0.2)
"""


def within_run(tmp_path: Path, shell: str) -> Run:
    """Run a shell command by `scenetest-otel run`, in which `$MARK` dispatches and writes a marker three times."""
    script = tmp_path / "marking.py"
    script.write_text(PREAMBLE + MARKING)
    environment = clean_environment(MARK=f"{sys.executable} {script}")
    run_command(tmp_path / "store", ["sh", "-c", shell], cwd=tmp_path, env=environment)
    return only_run(tmp_path / "store")


def placed_names(run: Run) -> dict[str, int]:
    """How often each native span lies in a dispatch; the test fails if one does not."""
    names: dict[str, int] = {}
    for placed in run.native().spans:
        assert placed.window is not None
        assert placed.window.owner.span.kind == "dispatch"
        names[placed.span.name] = names.get(placed.span.name, 0) + 1
    return names


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, str]:
    return run_harness(tmp_path_factory.mktemp("store"), "scenes/test_group.py", "-p", "a2a3sim", "-d", "0-1")


def test_the_module_runner_prints_no_marker_and_the_run_has_them_all(runner: tuple[Run, str]) -> None:
    run, printed = runner
    assert "[STRACE]" not in printed
    names = placed_names(run)
    assert (names["chip.run"], names["node.graph_build"]) == (2, 1)


def test_both_chip_children_stand_under_the_one_dispatch(runner: tuple[Run, str]) -> None:
    chips = [placed for placed in runner[0].native().spans if placed.span.name == "chip.run"]
    (process,) = (process for process in runner[0].processes if process.cases)
    assert len({chip.span.pid for chip in chips} - {process.record.pid}) == 2
    assert len({chip.window.owner.span.span_id for chip in chips if chip.window}) == 1
    forked = str(process.cases[0].span.attributes["scenetest.workers.pids"]).split(",")
    assert {str(chip.span.pid) for chip in chips} < set(forked)


def test_jaeger_shows_case_dispatch_and_the_native_spans_of_both_children_under_their_conditions(
    runner: tuple[Run, str], jaeger: Jaeger
) -> None:
    run = runner[0]
    exporter = delivery.exporter_for(Endpoint(f"{jaeger.otlp.http}/v1/traces", "http/protobuf", 10))
    delivery.Delivery(run.path, run.facts, exporter, 10).deliver()
    exporter.shutdown()

    def search() -> list[tuple[dict[str, Any], dict[str, Any]]]:
        conditions = {"scenetest.run.id": str(run.id), "torch.backend_autoload.effective": "enabled"}
        return [
            (span, attributes(group["resource"]))
            for trace in jaeger.traces("scenetest", conditions)
            for group in jaeger.resource_spans(trace["traceID"])
            for scope in group["scopeSpans"]
            for span in scope["spans"]
        ]

    native = run.native().spans
    spans = eventually(search, lambda seen: sum("simpler.inv" in attributes(span) for span, _ in seen) >= len(native))
    by_id = {span["spanId"]: span for span, _ in spans}

    def above(span: dict[str, Any]) -> list[str]:
        parent = by_id.get(span.get("parentSpanId", ""))
        return [parent["name"], *above(parent)] if parent else []

    dispatched = ["dispatch TestGroup::default", "TestGroup::default"]
    paths = {span["name"]: above(span) for span, _ in spans}
    assert paths["node.graph_build"] == dispatched
    assert paths["chip.run.runner_run.device_wall"] == ["chip.run.runner_run", "chip.run", *dispatched]
    of_chips = [resource for span, resource in spans if span["name"] == "chip.run"]
    assert len({resource["process.pid"] for resource in of_chips}) == 2
    for _, resource in spans:
        assert resource["torch.backend_autoload.effective"] == "enabled"
        assert resource["torch.backend_autoload.setting"] == "unset"
    starts = {str(native_start(placed)) for placed in native}
    assert {span["startTimeUnixNano"] for span, _ in spans if "simpler.inv" in attributes(span)} == starts


def native_start(placed: Placed[Enclosing]) -> int:
    assert placed.window is not None
    assert placed.start_ns is not None
    return placed.window.owner.process.unix_ns(placed.start_ns)


def test_markers_that_pytest_captured_in_xdist_workers_are_in_the_run_once(tmp_path: Path) -> None:
    options = ("--platform", "a2a3sim", "--runtime", "tensormap_and_ringbuffer", "--level", "2", "-n", "2")
    run, printed = run_harness(tmp_path, "-m", "pytest", "scenes/test_vector.py", *options)
    assert "[STRACE]" not in printed
    dispatches = [one for process in run.processes for _, one in process.all_dispatches()]
    assert placed_names(run)["chip.run"] == len(dispatches) > 0


def test_a_stderr_that_the_command_sends_elsewhere_and_deletes_is_read(tmp_path: Path) -> None:
    run = within_run(tmp_path, "$MARK 2>elsewhere; rm elsewhere")
    assert placed_names(run) == {"chip.run": 3}


def test_what_stood_in_that_file_before_the_run_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(strace("before", 1, 2))
    assert placed_names(within_run(tmp_path, "$MARK 2>>elsewhere")) == {"chip.run": 3}


def test_log_files_that_a_newer_harness_writes_for_each_process_are_read(tmp_path: Path) -> None:
    old = tmp_path / "outputs" / "before" / "host.1.log"
    old.parent.mkdir(parents=True)
    old.write_text(strace("before", 1, 2))
    os.utime(old, (0, 0))
    run = within_run(tmp_path, "$MARK 2>&1 | cat >written; mkdir outputs/case; mv written outputs/case/host.7.log")
    assert placed_names(run) == {"chip.run": 3}


def test_the_files_of_the_run_itself_are_not_copied(tmp_path: Path) -> None:
    run = within_run(tmp_path, "$MARK")
    assert [log.name for log in logs.logs_of(run.path)] == ["stderr.log", "stdout.log"]
    assert placed_names(run) == {"chip.run": 3}
