"""The detector is fast, and imports nothing while it runs."""

from __future__ import annotations

import sys
import time

from opentelemetry.instrumentation.scenetest.entrypoints.resource_detector import SceneTestResourceDetector

before = set(sys.modules)
start = time.process_time()
SceneTestResourceDetector().detect()
assert time.process_time() - start < 0.05
assert set(sys.modules) == before
