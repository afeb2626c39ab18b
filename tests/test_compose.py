"""docker-compose.yml, read by Compose's own loader, which checks it against its schema."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import gobuild
import pytest
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
    assert (images["jaeger"], gobuild.JAEGER.version) == ("2.13.0", "v1.76.0")  # one release under two names


def test_prometheus_is_there_only_with_the_metrics_profile(model: dict[str, Any]) -> None:
    profiles = {name: service["profiles"] for name, service in model["services"].items() if "profiles" in service}
    assert profiles == {"prometheus": ["metrics"]}


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
