"""docker-compose.yml, read by Compose's own loader, which checks it against its schema."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import gobuild
import pytest
import stack
from support.stack import ROOT


def load(file: Path) -> subprocess.CompletedProcess[str]:
    program = gobuild.ensure(gobuild.COMPOSE)
    return subprocess.run([program, "--format", "json", file.name], cwd=file.parent, capture_output=True, text=True)


@pytest.fixture(scope="module")
def model() -> dict[str, Any]:
    answer = load(ROOT / "docker-compose.yml")
    assert answer.stderr == ""
    return json.loads(answer.stdout)


def test_the_loader_refuses_what_the_schema_does_not_know(tmp_path: Path) -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    (tmp_path / "docker-compose.yml").write_text(text.replace("healthcheck:", "healthchek:"))
    assert "healthchek" in load(tmp_path / "docker-compose.yml").stderr


def test_nothing_listens_beyond_this_machine(model: dict[str, Any]) -> None:
    published = [port for service in model["services"].values() for port in service.get("ports", [])]
    assert {port["host_ip"] for port in published} == {"127.0.0.1"}
    assert sorted(port["published"] for port in published) == ["14317", "14318", "16686", "4317", "4318", "9090"]


def test_every_service_is_pinned_and_its_health_is_checked(model: dict[str, Any]) -> None:
    checked = {name for name, service in model["services"].items() if "healthcheck" in service}
    assert checked == {"jaeger", "collector-health", "prometheus"}
    assert model["services"]["collector-health"]["network_mode"] == "service:collector"
    images = {name: service["image"].partition(":")[2] for name, service in model["services"].items()}
    assert images["collector"] == gobuild.COLLECTOR.version
    # One release of each, under two names.
    assert (images["jaeger"], gobuild.JAEGER.version) == ("2.13.0", "v1.76.0")
    assert (images["prometheus"], gobuild.PROMETHEUS.version) == ("v3.14.0", "v0.314.0")


def test_prometheus_is_there_only_with_the_metrics_profile(model: dict[str, Any]) -> None:
    profiles = {name: service["profiles"] for name, service in model["services"].items() if "profiles" in service}
    assert profiles == {"prometheus": ["metrics"]}


def test_every_service_reads_the_file_that_it_reads_without_containers(model: dict[str, Any]) -> None:
    read = {
        name: (Path(volume["source"]), volume["target"])
        for name, service in model["services"].items()
        for volume in service.get("volumes", [])
        if volume["type"] == "bind"
    }
    assert {name: file for name, (file, _) in read.items()} == {
        service.name: ROOT / service.configuration for service in stack.SERVICES.values()
    }
    for name, (_, target) in read.items():
        assert model["services"][name]["command"][0].endswith(f"={target}")


def test_nothing_is_written_into_a_container_that_is_read_only(model: dict[str, Any]) -> None:
    # Compose refuses to start such a service with text from docker-compose.yml: only files can be mounted.
    assert all(service["read_only"] for service in model["services"].values())
    assert "configs" not in model


def test_prometheus_begins_every_series_at_zero_here_as_there(model: dict[str, Any]) -> None:
    feature = "--enable-feature=created-timestamp-zero-ingestion"
    assert feature in model["services"]["prometheus"]["command"]
    assert feature in stack.SERVICES["prometheus"].arguments


def test_traces_outlive_the_container(model: dict[str, Any]) -> None:
    volumes = {
        (name, volume["source"], volume["target"])
        for name, service in model["services"].items()
        for volume in service.get("volumes", [])
        if volume["type"] == "volume"
    }
    assert volumes == {
        ("jaeger", "jaeger", "/tmp"),
        ("collector", "collector", "/var/lib/otelcol"),
        ("prometheus", "prometheus", "/prometheus"),
    }
