"""The detected resource is also correct in a forked child."""

from __future__ import annotations

import os

from opentelemetry.sdk.trace import TracerProvider

from opentelemetry.instrumentation.scenetest.entrypoints.resource_detector import SceneTestResourceDetector

resource = TracerProvider().resource
if os.fork() == 0:
    os._exit(SceneTestResourceDetector().detect().attributes.items() <= resource.attributes.items())
assert os.waitstatus_to_exitcode(os.wait()[1]) == 1
