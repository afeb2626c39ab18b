"""Conditions that couldn't be written are written before the next dispatch."""

from __future__ import annotations

import os
import resource
import sys
import types
from pathlib import Path

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()
with case("S", "c"):
    with dispatch():
        pass
    sys.modules["torch_npu"] = types.ModuleType("torch_npu")
    (journal,) = Path(os.environ["SCENETEST_OTEL_RUN"]).glob("*.jsonl")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (journal.stat().st_size, hard))
    with dispatch():
        pass
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with dispatch():
        pass
