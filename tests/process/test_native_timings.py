"""Native timings of a recorded run are shown and exported below their dispatch, with its conditions."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

import pytest
from click.testing import CliRunner
from support.scripts import only_run, run_script

from opentelemetry.instrumentation.scenetest.analyse.runs import Run
from opentelemetry.instrumentation.scenetest.cli.export import export
from opentelemetry.instrumentation.scenetest.cli.show import show
from opentelemetry.instrumentation.scenetest.rundir import logs

# A level-3 dispatch as the harness does it: the parent writes node.*, a child that was forked before writes chip.run.
LEVEL_3 = """
    import itertools, os, time

    def mark(name, start, end, depth=0, rest="", inv=1):
        pid = os.getpid()
        times = f"ts={start} dur={end - start}"
        text = f"[STRACE] v=1 pid={pid} tid={pid} inv={inv} hid=0 depth={depth} name={name} {times} "
        os.write(2, f"[mono_ns={end}][T0x7f][TIMING] emit_host_span: {text}{rest}\\n".encode())

    instrument()
    work, done = os.pipe(), os.pipe()
    if not os.fork():
        os.close(work[1])
        for inv in itertools.count(1):
            if not os.read(work[0], 1):
                os._exit(0)
            start = time.monotonic_ns()
            time.sleep(0.002)
            end = time.monotonic_ns()
            mark("chip.run.runner_run", start, end, 1, inv=inv)
            mark("chip.run.runner_run.device_wall", 0, (end - start) // 2, 2, "clk=dev", inv=inv)
            mark("chip.run", start, end, inv=inv)
            os.write(done[1], b".")
    os.close(work[0])
    with case("TestL3Group", "default", level=3, platform="a2a3sim"):
        with phase("args"):
            mark("chip.prewarm", time.monotonic_ns(), time.monotonic_ns())
        for _ in range(3):
            with dispatch():
                start = time.monotonic_ns()
                os.write(work[1], b".")
                os.read(done[0], 1)
                mark("node.graph_build", start, time.monotonic_ns())
    os.close(work[1])
    os.wait()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    store = tmp_path_factory.mktemp("store")
    done = run_script(LEVEL_3, env={"SCENETEST_OTEL_DIR": str(store)})
    assert done.returncode == 0, done.stderr
    recorded = only_run(store)
    logs.add(recorded.path, io.BytesIO(done.stderr.encode()), "stderr")
    return recorded


def shown(run: Run, *options: str) -> str:
    result = CliRunner().invoke(show, [str(run.path), *options], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def otlp_spans(run: Run) -> Iterable[tuple[dict[str, Any], dict[str, Any]]]:
    """Every exported span with its resource attributes."""
    result = CliRunner().invoke(export, [str(run.path), "--format", "otlp-json"], catch_exceptions=False)
    for line in result.output.splitlines():
        for of_resource in json.loads(line)["resourceSpans"]:
            resource = {
                each["key"]: next(iter(each["value"].values())) for each in of_resource["resource"]["attributes"]
            }
            for of_scope in of_resource["scopeSpans"]:
                for span in of_scope["spans"]:
                    yield span, resource


def test_each_marker_stands_under_its_dispatch_and_outside_any_under_the_case(run: Run) -> None:
    (case,) = run.processes[0].cases
    owners = [(each.span.name, each.window and each.window.owner.span) for each in run.native().spans]
    for dispatch in case.dispatches:
        assert sorted(name for name, owner in owners if owner and owner.span_id == dispatch.span_id) == [
            "chip.run",
            "chip.run.runner_run",
            "chip.run.runner_run.device_wall",
            "node.graph_build",
        ]
    assert [name for name, owner in owners if owner and owner.span_id == case.span.span_id] == ["chip.prewarm"]


def test_show_has_the_figures_of_the_harness_and_says_what_became_of_the_markers(run: Run) -> None:
    lines = [line.split() for line in shown(run).splitlines()]
    rows = [line[0] for line in lines if line and line[0] in ("dispatch", "Host", "Device", "bind")]
    assert rows == ["dispatch", "Host", "Device"]
    assert ["13", "markers,", "all", "placed,", "none", "torn"] in lines


def test_show_native_prints_a_tree_with_shares_of_the_span_above(run: Run) -> None:
    rows = {line.split()[0]: line for line in shown(run, "--native").splitlines() if line.endswith("%")}
    indents = {name: len(row) - len(row.lstrip()) for name, row in rows.items()}
    assert indents == {
        "node.graph_build": 4,
        "chip.run": 4,
        ".runner_run": 6,
        ".device_wall": 8,
        "chip.prewarm": 4,
    }
    assert rows[".device_wall"].split()[1] == "3"
    assert rows[".device_wall"].split()[-2:] == ["50", "%"]


def test_show_json_native_gives_count_sum_minimum_median_and_maximum(run: Run) -> None:
    native = {each["name"]: each for each in json.loads(shown(run, "--json", "--native"))["native"]}
    assert sorted(native) == [
        "chip.prewarm",
        "chip.run",
        "chip.run.runner_run",
        "chip.run.runner_run.device_wall",
        "node.graph_build",
    ]
    host = native["chip.run"]
    assert host["count"] == 3
    assert 2_000_000 <= host["min_ns"] <= host["median_ns"] <= host["max_ns"] < host["sum_ns"]
    assert "native" not in json.loads(shown(run, "--json"))


def test_the_exported_spans_of_a_forked_child_carry_the_conditions_under_its_own_pid(run: Run) -> None:
    exported = list(otlp_spans(run))
    dispatches = {span["spanId"] for span, _ in exported if span["name"].startswith("dispatch")}
    (parent_pid,) = {resource["process.pid"] for span, resource in exported if span["name"] == "node.graph_build"}
    chip = [(span, resource) for span, resource in exported if span["name"] == "chip.run"]
    assert {span["parentSpanId"] for span, _ in chip} == dispatches
    for span, resource in chip:
        assert resource["process.parent_pid"] == parent_pid != resource["process.pid"]
        assert resource["torch.backend_autoload.outcome"] == "torch_not_imported"
        assert "scenetest.ruler" in {each["key"] for each in span["attributes"]}


def test_native_spans_have_the_same_ids_whenever_they_are_exported(run: Run) -> None:
    def ids() -> list[tuple[str, str]]:
        return [(span["name"], span["spanId"]) for span, _ in otlp_spans(run)]

    first = ids()
    assert len({span_id for _, span_id in first}) == len(first)
    assert ids() == first


def test_a_device_span_is_exported_with_the_mark_of_its_clock(run: Run) -> None:
    walls = [span for span, _ in otlp_spans(run) if span["name"].endswith("device_wall")]
    clocks = [{"key": "scenetest.clock", "value": {"stringValue": "device"}} in span["attributes"] for span in walls]
    assert clocks == [True] * 3


def test_perfetto_draws_native_spans_on_the_lanes_of_their_processes(run: Run) -> None:
    result = CliRunner().invoke(export, [str(run.path), "--format", "perfetto"], catch_exceptions=False)
    events = json.loads(result.output)["traceEvents"]
    native = [event for event in events if event.get("cat") == "native"]
    lanes = {event["name"]: (event["pid"], event["tid"]) for event in native}
    parent = run.processes[0].record.pid
    assert len(native) == 13
    assert lanes["node.graph_build"][0] == parent
    assert lanes["chip.run"][0] != parent
    assert lanes["chip.run.runner_run"] == lanes["chip.run"]
    assert lanes["chip.run.runner_run.device_wall"][0] == lanes["chip.run"][0]
    assert lanes["chip.run.runner_run.device_wall"] != lanes["chip.run"]
    names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert f"forked by {parent}" in names


def test_a_log_that_is_added_twice_changes_nothing(run: Run) -> None:
    (log,) = logs.logs_of(run.path)
    with log.open("rb") as file:
        assert logs.add(run.path, file, "again") is None
    assert logs.logs_of(run.path) == [log]
