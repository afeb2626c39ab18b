"""pytest plugin: hooks what pytest loads past our import hook, and makes a case of an item that dispatches by itself.

It does nothing in a process that is not instrumented. Children and xdist workers join the run by their environment.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from opentelemetry.instrumentation.scenetest.record.state import state


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: Any) -> Generator[None, None, None]:
    """Hold the item's case, which opens at its first dispatch outside a SceneTestCase."""
    if not state.instrumented:
        yield
        return
    from opentelemetry.instrumentation.scenetest.harness import simpler
    from opentelemetry.instrumentation.scenetest.harness.simpler import workers

    simpler.hook_loaded()
    # An item may run others in this process, as those that use pytester do.
    outer, running = workers.item, workers.Item(item.nodeid)
    workers.item = running
    yield
    running.end()
    workers.item = outer


def pytest_runtest_logreport(report: Any) -> None:
    """Keep the native timing markers that pytest has captured and shows for failing tests only."""
    if state.instrumented and state.directory is not None:
        from opentelemetry.instrumentation.scenetest.harness.simpler import outputs

        for title, text in report.sections:
            if title == f"Captured stderr {report.when}":
                outputs.save("pytest", text)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(call: Any) -> None:
    """Note what the item failed with."""
    if state.instrumented and call.excinfo is not None:
        from opentelemetry.instrumentation.scenetest.harness.simpler import workers

        if workers.item is not None and workers.item.error is None:
            workers.item.error = call.excinfo.type
