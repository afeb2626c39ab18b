"""pytest plugin: makes a case of a test that dispatches by itself, and hooks modules that pytest itself loads.

It does nothing in a process that is not instrumented. Children and xdist workers join the run by their environment.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from opentelemetry.instrumentation.scenetest.record.state import state


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: Any) -> Generator[None, None, None]:
    """Hold the case of the item. It opens at the first dispatch outside a SceneTestCase."""
    if not state.instrumented:
        yield
        return
    from opentelemetry.instrumentation.scenetest.harness import simpler
    from opentelemetry.instrumentation.scenetest.harness.simpler import pytest_items

    simpler.hook_loaded()
    pytest_items.start(item.nodeid)
    yield
    pytest_items.end()


def pytest_runtest_logreport(report: Any) -> None:
    """Keep the native timings in captured output: pytest shows it for failing tests only."""
    if state.instrumented and state.directory is not None:
        from opentelemetry.instrumentation.scenetest.harness.simpler import runner

        for title, text in report.sections:
            if title == f"Captured stderr {report.when}":
                runner.keep_timings("pytest", text)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(call: Any) -> None:
    """Note what the item failed with."""
    if state.instrumented and call.excinfo is not None:
        from opentelemetry.instrumentation.scenetest.harness.simpler import pytest_items

        pytest_items.note_error(call.excinfo.type)
