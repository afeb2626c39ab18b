"""pytest plugin: records a session, and makes a case of a test that dispatches by itself.

It is on where an endpoint or a store is set, with `--scenetest-otel`, and in a process that joined a run. Otherwise it
does nothing. Children and xdist workers join the run by their environment.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from typing import Any

import pytest

from opentelemetry.instrumentation.scenetest import destination
from opentelemetry.instrumentation.scenetest.conditions.autoload_setting import VARIABLE
from opentelemetry.instrumentation.scenetest.conditions.logline import UNSET
from opentelemetry.instrumentation.scenetest.conditions.values import UNKNOWN
from opentelemetry.instrumentation.scenetest.record import autoload, noted
from opentelemetry.instrumentation.scenetest.record.finder import variable
from opentelemetry.instrumentation.scenetest.record.recorder import case
from opentelemetry.instrumentation.scenetest.record.state import state
from opentelemetry.instrumentation.scenetest.rundir import layout

_PROGRAM = "opentelemetry.instrumentation.scenetest"
_OUTCOMES = {"passed": "pass", "failed": "fail", "skipped": "skipped"}
_BEFORE: pytest.StashKey[frozenset[case]] = pytest.StashKey()
"""The cases that were open before an item that another one runs."""
_running: list[str] = []
"""The running items by their node ids."""
_PATIENCE = 60
"""Seconds for the line of the terminal summary."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this plugin."""
    group = parser.getgroup("scenetest-otel", "record cases and dispatches with the conditions of their measurement")
    group.addoption(
        "--scenetest-otel",
        action="store_true",
        help=f"Record the session. It is on by itself where an OTLP endpoint or {layout.STORE_VARIABLE} is set.",
    )
    group.addoption("--scenetest-otel-name", metavar="NAME", help="Name of the recorded run.")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin the run before the first conftest, which may import torch."""
    options = early_config.known_args_namespace
    asked, name = options.scenetest_otel, options.scenetest_otel_name
    if name is not None and (os.sep in name or name in ("", ".", "..")):
        raise pytest.UsageError(f"--scenetest-otel-name {name!r} can't be used: it names a directory, so no {os.sep!r}")
    if state.instrumented or not (asked or os.environ.get(layout.STORE_VARIABLE) or destination.has_endpoint()):
        return
    from opentelemetry.instrumentation.scenetest.entrypoints import setup

    setup.instrument(journal_dir=_store() if asked else None, name=name)


def _store() -> str:
    """Return the store of a session that was asked for by option: that of the environment, else that of `run`."""
    from opentelemetry.instrumentation.scenetest.rundir import run_file

    if given := os.environ.get(layout.STORE_VARIABLE):
        return given
    try:
        run_file.make_store(layout.LOCAL_STORE)
    except OSError as error:
        raise pytest.UsageError(
            f"no run can be made in {layout.LOCAL_STORE!r} ({error.strerror}): set {layout.STORE_VARIABLE}"
        ) from None
    return layout.LOCAL_STORE


def pytest_report_header() -> str | None:
    """Say where the session is recorded, and what decides whether a device backend is loaded."""
    if not state.instrumented or state.directory is None:
        return None
    setting = variable()
    shown = UNSET if setting is None else repr(setting)
    registered = sorted({entry.dist.name if entry.dist else entry.name for entry in autoload.installed() or ()})
    backends = f"; registered backends: {', '.join(registered)}" if registered else "; no backend is registered"
    return f"scenetest-otel: {state.directory}; {VARIABLE} {shown}{backends}"


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the verdict, the ruler and where the run is, in the process that made the run."""
    if state.made_run is None or not os.path.isdir(state.made_run):
        return
    if not any(map(layout.is_journal, os.listdir(state.made_run))):
        if config.option.scenetest_otel:
            terminalreporter.write_line("scenetest-otel: nothing was recorded: no test had a case or a dispatch")
        return
    # Another process reads the run: what reads and what records never share one.
    command = [sys.executable, "-m", _PROGRAM, "show", state.made_run, "--line"]
    environment = {key: value for key, value in os.environ.items() if key != layout.RUN_VARIABLE}
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    if line := done.stdout.decode("utf-8", "replace").strip():
        terminalreporter.write_sep("=", "scenetest-otel")
        terminalreporter.write_line(line)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: Any) -> Generator[None, None, None]:
    """Hold the case of the item. It opens at the first dispatch outside a SceneTestCase."""
    if not state.instrumented:
        yield
        return
    from opentelemetry.instrumentation.scenetest.harness import pytest_benchmark

    pytest_benchmark.LIBRARY.hook_loaded()
    # An item may run others in this process, as tests that use pytester do. What was open then is none of their cases.
    item.stash[_BEFORE] = noted.opened() if _running else frozenset()
    _running.append(item.nodeid)
    # An item may switch recording off before it ends.
    harnesses = state.harnesses
    for harness in harnesses:
        harness.start_item(item.nodeid)
    yield
    _running.pop()
    for harness in harnesses:
        harness.end_item()


def pytest_runtest_logreport(report: Any) -> None:
    """Keep the native timings in captured output: pytest shows it for failing tests only."""
    if state.instrumented and state.directory is not None:
        for title, text in report.sections:
            if title == f"Captured stderr {report.when}":
                for harness in state.harnesses:
                    harness.keep_timings("pytest", text)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, Any, None]:
    """Note how the item ended, for the cases that are open around it: a fixture does not see what a test raises."""
    result = yield
    if not state.instrumented or result.excinfo is not None or _BEFORE not in item.stash:
        return
    # The report says what an exception does not: an expected failure is none, and an unexpected success is one.
    report = result.get_result()
    if report.when == "call" or not report.passed:
        outcome = _OUTCOMES.get(report.outcome, UNKNOWN)
        noted.note(outcome, call.excinfo.value if call.excinfo else None, item.stash[_BEFORE])
