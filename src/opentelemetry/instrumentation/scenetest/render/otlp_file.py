"""Writes a run as OTLP JSON lines, with the official encoder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from opentelemetry.instrumentation.scenetest.deliver import native, spans
from opentelemetry.instrumentation.scenetest.deliver.spans import BATCH
from opentelemetry.instrumentation.scenetest.errors import BadInputError


def write(directory: Path, run: Mapping[str, Any], stream: IO[str]) -> int:
    """Write all spans of a run, one batch per line, and return the number of spans.

    Args:
        directory: the run directory.
        run: the fields of `run.json`.
        stream: the output.

    Raises:
        BadInputError: the encoder is not installed.
        OSError: the stream can't be written.
    """
    try:
        from opentelemetry.exporter.otlp.json.common.trace_encoder import encode_spans
    except ImportError as error:
        extra = "opentelemetry-instrumentation-scenetest[export]"
        raise BadInputError(f"OTLP JSON needs an encoder that is not installed: pip install '{extra}'") from error
    count = 0
    everything = chain(spans.of_run(directory, run), native.of_run(directory, run))
    while batch := list(islice(everything, BATCH)):
        stream.write(json.dumps(encode_spans(batch).to_dict(), separators=(",", ":")) + "\n")
        count += len(batch)
    return count
