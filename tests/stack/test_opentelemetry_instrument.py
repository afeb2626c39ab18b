"""`opentelemetry-instrument` with a real collector: what arrives, and the message if the program's spans can't."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support.scripts import PROGRAMS, clean_environment
from support.stack import Collector, eventually

PROGRAM = PROGRAMS / "otel/own_span.py"
TOOL = "from opentelemetry.instrumentation.auto_instrumentation import run; run()"
ONLY_TRACES = {"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none", "SCENETEST_OTEL_EXIT_WAIT": "60"}


@pytest.fixture(scope="module")
def without_distro(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter that has everything that this one has, but not `opentelemetry-distro`."""
    folder = tmp_path_factory.mktemp("without") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True).stdout.strip())
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith("opentelemetry_distro"):
            (site / entry.name).symlink_to(entry)
    return python


def instrumented(python: str, store: Path, service: str, **env: str) -> str:
    """Run the program under the tool, and return what was printed on standard error."""
    settings = {**ONLY_TRACES, "OTEL_SERVICE_NAME": service, "SCENETEST_OTEL_DIR": str(store), **env}
    done = subprocess.run(
        [python, "-c", TOOL, python, str(PROGRAM)],
        env=clean_environment(**settings),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def arrived(collector: Collector, service: str, count: int) -> list[str]:
    """The names of the spans of a service in the collector's file, when there are as many."""

    def names() -> list[str]:
        return sorted(span["name"] for span in collector.spans() if span["resource"].get("service.name") == service)

    return eventually(names, lambda found: len(found) >= count)


def test_with_the_distro_the_two_lines_of_the_guide_bring_all_spans_into_one_trace(
    tmp_path: Path, collector: Collector
) -> None:
    lines = {
        "by-grpc": {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.otlp.grpc, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
        "by-http": {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.otlp.http, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
    }
    for service, env in lines.items():
        assert instrumented(sys.executable, tmp_path / service, service, **env) == ""
        assert arrived(collector, service, 3) == ["S::c", "dispatch S::c", "mine"]
        spans = [span for span in collector.spans() if span["resource"].get("service.name") == service]
        assert len({span["traceId"] for span in spans}) == 1


def test_without_the_distro_ours_arrive_and_one_line_says_what_is_missing(
    without_distro: str, tmp_path: Path, collector: Collector
) -> None:
    said = instrumented(without_distro, tmp_path, "no-distro", OTEL_EXPORTER_OTLP_ENDPOINT=collector.otlp.http)
    assert said == (
        "opentelemetry-instrument has set no tracer provider, so the program's own spans are not exported: "
        "install opentelemetry-distro\n"
    )
    assert arrived(collector, "no-distro", 2) == ["S::c", "dispatch S::c"]


def test_a_port_of_the_other_protocol_is_said_in_one_line(tmp_path: Path) -> None:
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    said = instrumented(sys.executable, tmp_path, "wrong-port", **env, SCENETEST_OTEL_EXIT_WAIT="0")
    assert said.splitlines()[0] == (
        "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 is the port of OTLP over HTTP, and the program's own "
        "exporter uses OTLP over gRPC, so its spans are not exported: "
        "set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, or use port 4317"
    )
    assert said.count("is the port of") == 1
