"""Whole runs of the harness, recorded and delivered as users do, and found in Jaeger by their conditions."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from support.harness import HARNESS
from support.runner import CLI
from support.scripts import PREAMBLE, clean_environment
from support.stack import Collector, Jaeger, eventually

from opentelemetry.instrumentation.scenetest.deliver import native, spans
from opentelemetry.instrumentation.scenetest.rundir import run_file

SERVICE = "scenetest"
NPU = """
__version__ = "2.9.0"
class npu: _initialized = False
def _autoload(): pass
"""
METADATA = {
    "METADATA": "Metadata-Version: 2.1\nName: torch-npu\nVersion: 2.9.0\n",
    "entry_points.txt": "[torch.backends]\ntorch_npu = torch_npu:_autoload\n",
}


@pytest.fixture(scope="session")
def box_with_npu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with what torch's autoload meets on a box with an NPU."""
    site = tmp_path_factory.mktemp("site")
    package, metadata = site / "torch_npu", site / "torch_npu-2.9.0.dist-info"
    package.mkdir()
    metadata.mkdir()
    (package / "__init__.py").write_text(NPU)
    for name, text in METADATA.items():
        (metadata / name).write_text(text)
    return site


def record(store: Path, endpoint: str, site: Path, *command: str, **env: str) -> Path:
    """Record a command with `scenetest-otel run` and return the run directory, delivered."""
    path = os.pathsep.join([str(HARNESS), str(site)])
    settings = {"PYTHONPATH": path, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "SCENETEST_OTEL_EXIT_WAIT": "60"}
    call = [CLI, "run", "--dir", str(store), "--", sys.executable, *command]
    done = subprocess.run(call, cwd=HARNESS, env=clean_environment(**settings, **env), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"spans delivered to {endpoint}" in done.stderr
    (directory,) = (path for path in store.iterdir() if path.is_dir())
    return directory


def recorded_ids(directory: Path) -> set[str]:
    facts = run_file.read(directory)
    everything = chain(spans.of_run(directory, facts), native.of_run(directory, facts))
    return {f"{span.context.span_id:016x}" for span in everything if span.context}


def found(jaeger: Jaeger, **tags: str) -> list[dict[str, Any]]:
    return jaeger.traces(SERVICE, {key.replace("__", "."): value for key, value in tags.items()})


def span_ids(traces: list[dict[str, Any]]) -> set[str]:
    return {span["spanID"] for trace in traces for span in trace["spans"]}


def process_tags(traces: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The process tags of every span of a name."""
    return [
        {tag["key"]: tag["value"] for tag in trace["processes"][span["processID"]]["tags"]}
        for trace in traces
        for span in trace["spans"]
        if span["operationName"] == name
    ]


@pytest.mark.parametrize("way", ["http through the collector", "grpc to Jaeger"])
def test_a_run_with_autoload_and_one_without_are_each_found_by_what_it_did(
    way: str, tmp_path: Path, box_with_npu: Path, jaeger: Jaeger, collector: Collector
) -> None:
    # A URL says nothing of its protocol but for the port 4317, and these ports are free ones.
    straight = way == "grpc to Jaeger"
    endpoint, protocol = (jaeger.otlp.grpc, "grpc") if straight else (collector.otlp.http, "http/protobuf")
    scene = ("scenes/test_vector.py", "-p", "a2a3sim", "--rounds", "3")
    runs: dict[str, str] = {}
    for name, env in {"on": {}, "off": {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}}.items():
        protocols = {"OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
        directory = record(tmp_path / name, endpoint, box_with_npu, *scene, **env, **protocols)
        run = runs[name] = run_file.read(directory)["id"]
        whole = recorded_ids(directory)
        assert eventually(lambda run=run: span_ids(found(jaeger, scenetest__run__id=run)), whole.__eq__) == whole

    for tag, value, expected in (
        ("torch.backend_autoload.effective", "disabled", "off"),
        ("torch.backend_autoload.setting", "0", "off"),
        ("torch_npu.loaded", "false", "off"),
        ("torch.backend_autoload.effective", "enabled", "on"),
        ("torch_npu.loaded", "true", "on"),
        ("torch_npu.loaded_by", "autoload", "on"),
    ):
        for name, run in runs.items():
            assert bool(jaeger.traces(SERVICE, {"scenetest.run.id": run, tag: value})) == (name == expected), tag
    for name, effective in (("on", "enabled"), ("off", "disabled")):
        traces = found(jaeger, scenetest__run__id=runs[name])
        dispatches = process_tags(traces, "dispatch TestVector::default")
        assert [tags["torch.backend_autoload.effective"] for tags in dispatches] == [effective] * 3
        assert [tags["torch_npu.loaded"] for tags in dispatches] == [name == "on"] * 3


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
@pytest.mark.parametrize("way", ["straight", "through the collector"])
def test_every_way_of_delivery_brings_every_span_with_the_conditions_of_its_process(
    way: str, protocol: str, tmp_path: Path, jaeger: Jaeger, collector: Collector
) -> None:
    to = jaeger.otlp if way == "straight" else collector.otlp
    script = PREAMBLE + "with case('S', 'c', level=2):\n    for _ in range(3):\n        with dispatch(): pass"
    endpoint = to.grpc if protocol == "grpc" else to.http
    directory = record(tmp_path, endpoint, tmp_path, "-c", script, OTEL_EXPORTER_OTLP_PROTOCOL=protocol)
    run, whole = run_file.read(directory)["id"], recorded_ids(directory)
    traces = eventually(lambda: found(jaeger, scenetest__run__id=run), lambda traces: span_ids(traces) == whole)
    assert span_ids(traces) == whole
    tags = process_tags(traces, "dispatch S::c")
    assert [one["torch.backend_autoload.outcome"] for one in tags] == ["torch_not_imported"] * 3
    assert {one["scenetest.run.id"] for one in tags} == {run}


@pytest.mark.parametrize(
    "command",
    [
        ("scenes/test_group.py", "-p", "a2a3sim", "-d", "0-1"),
        ("-m", "pytest", "scenes/test_group.py", "scenes/test_vector.py", "--platform", "a2a3sim", "--device", "0-1"),
    ],
    ids=["module runner", "pytest"],
)
def test_every_process_of_a_run_is_found_by_the_run_and_was_delivered_once(
    command: tuple[str, ...], tmp_path: Path, box_with_npu: Path, jaeger: Jaeger, collector: Collector
) -> None:
    directory = record(tmp_path, collector.otlp.http, box_with_npu, *command, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    run, whole = run_file.read(directory)["id"], recorded_ids(directory)
    traces = eventually(lambda: found(jaeger, scenetest__run__id=run), lambda traces: span_ids(traces) == whole)
    assert span_ids(traces) == whole
    tags = process_tags(traces, "dispatch TestGroup::default")
    assert {one["torch.backend_autoload.effective"] for one in tags} == {"disabled"}
    copies = eventually(lambda: [span["spanId"] for span in collector.spans()], whole.issubset)
    assert sorted(one for one in copies if one in whole) == sorted(whole)
