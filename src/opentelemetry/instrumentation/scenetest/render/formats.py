"""The formats of `export`. Each is one function that writes a stored run to a text stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO

from opentelemetry.instrumentation.scenetest.rundir import run_file
from opentelemetry.instrumentation.scenetest.sources import runs


def _otlp_json(directory: Path, stream: IO[str]) -> None:
    from opentelemetry.instrumentation.scenetest.render import otlp_file

    if otlp_file.write(directory, run_file.read(directory), stream) == 0:
        runs.load(directory)  # raises BadInputError, which says why there is nothing


def _perfetto(directory: Path, stream: IO[str]) -> None:
    from opentelemetry.instrumentation.scenetest.render import perfetto

    perfetto.write(runs.load(directory), stream)


FORMATS: Mapping[str, Callable[[Path, IO[str]], None]] = MappingProxyType(
    {"otlp-json": _otlp_json, "perfetto": _perfetto}
)
"""Every format by the name that `--format` takes."""
