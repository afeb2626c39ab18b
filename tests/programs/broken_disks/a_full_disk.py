"""A failing write gives one warning, and doesn't look like a crash."""

from __future__ import annotations

import logging
import resource

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

logging.basicConfig(format="%(levelname)s %(message)s")
instrument()
with case("S", "c"):
    for number in range(40):
        with dispatch():
            if number == 9:
                size = (
                    __import__("os")
                    .stat(
                        next(__import__("pathlib").Path(__import__("os").environ["SCENETEST_OTEL_RUN"]).glob("*.jsonl"))
                    )
                    .st_size
                )
                resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40, size + 40))
print("done")
