"""`opentelemetry-instrument` finds the exporter that it should use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.grpc_backend import GrpcBackend, serving_grpc
from support.scripts import clean_environment

PROGRAM = "from opentelemetry import trace\nwith trace.get_tracer('t').start_as_current_span('s'): pass"


@pytest.mark.parametrize("exporter", ["otlp", "otlp_proto_grpc"])
def test_a_span_of_the_program_is_exported(exporter: str) -> None:
    backend = GrpcBackend()
    command = [str(Path(sys.executable).with_name("opentelemetry-instrument")), sys.executable, "-c", PROGRAM]
    with serving_grpc(backend) as address:
        env = clean_environment(
            OTEL_TRACES_EXPORTER=exporter,
            OTEL_METRICS_EXPORTER="none",
            OTEL_LOGS_EXPORTER="none",
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://{address}",
            OTEL_EXPORTER_OTLP_PROTOCOL="grpc",
        )
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(backend.taken) == 1
