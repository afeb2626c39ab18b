"""A tracer provider of the program's own, whose spans a test reads back exactly."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from support.scripts import clean_environment, run_script

PROVIDER = """
import json, os
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor

def line(span):
    fields = {
        "name": span.name, "trace": f"{span.context.trace_id:032x}", "id": f"{span.context.span_id:016x}",
        "parent": f"{span.parent.span_id:016x}" if span.parent else None, "attributes": dict(span.attributes),
        "status": [span.status.status_code.name, span.status.description], "start": span.start_time,
        "end": span.end_time, "scope": span.instrumentation_scope.name, "pid": os.getpid(),
        "links": [f"{link.context.trace_id:032x}" for link in span.links],
    }
    return json.dumps(fields) + "\\n"

def make_provider(processor=SimpleSpanProcessor, **arguments):
    provider = TracerProvider(**arguments)
    spans = open(os.environ["SPANS"], "a")
    provider.add_span_processor(processor(ConsoleSpanExporter(out=spans, formatter=line)))
    return provider
"""

Exported = dict[str, Any]


def run_live(
    source: str, folder: Path, *, env: Mapping[str, str] | None = None
) -> tuple[list[Exported], CompletedProcess[str]]:
    """Run a script that may call `make_provider()`; return what its exporters wrote, in order, and how it ended."""
    spans = folder / "spans.jsonl"
    done = run_script(PROVIDER + source, env={"SPANS": str(spans), **(env or {})}, timeout=120)
    assert done.returncode == 0, done.stderr
    return (list(map(json.loads, spans.read_text().splitlines())) if spans.exists() else []), done


def auto_instrumented(
    source: str, folder: Path, *, within: tuple[str, ...] = (), env: Mapping[str, str] | None = None
) -> dict[str, Exported]:
    """Run a program under `opentelemetry-instrument`; return what its console exporter printed, by name.

    Args:
        source: the program.
        folder: where it is put.
        within: arguments of `scenetest-otel`, under which the whole is run.
        env: set in addition.
    """
    program = folder / "program.py"
    program.write_text(source)
    programs = Path(sys.executable).parent
    outer = [str(programs / "scenetest-otel"), *within] if within else []
    exporters = {"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}
    done = subprocess.run(
        [*outer, str(programs / "opentelemetry-instrument"), sys.executable, str(program)],
        env=clean_environment(**{**exporters, **(env or {})}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {span["name"]: span for span in _objects(done.stdout)}


def _objects(text: str) -> list[Exported]:
    decoder, found, position = json.JSONDecoder(), list[Exported](), 0
    while (position := text.find("{", position)) >= 0:
        span, position = decoder.raw_decode(text, position)
        found.append(span)
    return found
