"""Runs programs with their own tracer provider, and reads back its exported spans."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from support.scripts import PROGRAMS, clean_environment, run_script

PROVIDER = (PROGRAMS / "live/provider.py").read_text("utf-8")

Exported = dict[str, Any]


def run_live(
    program: str | Path, folder: Path, *, env: Mapping[str, str] | None = None
) -> tuple[list[Exported], CompletedProcess[str]]:
    """Run a program that may call `make_provider()`. Return the exported spans in order, and the finished process."""
    spans = folder / "spans.jsonl"
    done = run_script(
        PROVIDER + program if isinstance(program, str) else program,
        env={"SPANS": str(spans), **(env or {})},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return (list(map(json.loads, spans.read_text().splitlines())) if spans.exists() else []), done


def auto_instrumented(
    source: str, folder: Path, *, within: tuple[str, ...] = (), env: Mapping[str, str] | None = None
) -> dict[str, Exported]:
    """Run a program under `opentelemetry-instrument`, and return the spans of its console exporter by name.

    Args:
        source: the program.
        folder: the directory for the program.
        within: arguments of `scenetest-otel`, which then runs all of this.
        env: additional environment variables.
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
