"""Native spans of a run, and what of the run has to be read for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from opentelemetry.instrumentation.scenetest.native.of_run import native_spans
from opentelemetry.instrumentation.scenetest.rundir.process import ProcessRecord
from opentelemetry.instrumentation.scenetest.rundir.span import Span


def test_the_spans_of_a_run_without_native_records_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "stderr.log").write_text("nothing of the native runtime\n")

    def a_million() -> Iterator[tuple[ProcessRecord, list[Span]]]:
        pytest.fail("the dispatches were read")
        yield

    found = native_spans(tmp_path, a_million())
    assert not found.spans
    assert not found.counts.problems()
