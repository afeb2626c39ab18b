"""pytest plugin: records a session. A test that dispatches outside any case becomes a case.

It is active if an endpoint or a store is set, with `--scenetest-otel`, and in a process of a run. Otherwise it does
nothing. Child processes and xdist workers join the run through an environment variable.
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
"""The cases that were open before an item that runs inside another item."""
_running: list[str] = []
"""Node ids of the running items."""
_SUMMARY_TIMEOUT = 60
"""Seconds that reading the run for the terminal summary may take."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this plugin."""
    group = parser.getgroup("scenetest-otel", "record cases and dispatches with the conditions of their measurement")
    group.addoption(
        "--scenetest-otel",
        action="store_true",
        help=f"Record the session. This is the default if an OTLP endpoint or {layout.STORE_VARIABLE} is set.",
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
    """Return the store for `--scenetest-otel`: the one in the environment, else the same default as `run`."""
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
    """Return the header line: the run directory, the autoload variable and the registered backends."""
    if not state.instrumented or state.directory is None:
        return None
    setting = variable()
    shown = UNSET if setting is None else repr(setting)
    registered = sorted({entry.dist.name if entry.dist else entry.name for entry in autoload.installed() or ()})
    backends = f"; registered backends: {', '.join(registered)}" if registered else "; no backend is registered"
    return f"scenetest-otel: {state.directory}; {VARIABLE} {shown}{backends}"


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the verdict, the ruler and the run directory, in the process that created the run."""
    if state.made_run is None or not os.path.isdir(state.made_run):
        return
    if not any(map(layout.is_journal, os.listdir(state.made_run))):
        if config.option.scenetest_otel:
            terminalreporter.write_line("scenetest-otel: nothing was recorded: no test had a case or a dispatch")
        return
    # Another process reads the run, because the modules for reading must not be imported while recording.
    command = [sys.executable, "-m", _PROGRAM, "show", state.made_run, "--line"]
    environment = {key: value for key, value in os.environ.items() if key != layout.RUN_VARIABLE}
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SUMMARY_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    if line := done.stdout.decode("utf-8", "replace").strip():
        terminalreporter.write_sep("=", "scenetest-otel")
        terminalreporter.write_line(line)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: Any) -> Generator[None, None, None]:
    """Start and end the item. Its case begins with its first dispatch outside a SceneTestCase."""
    if not state.instrumented:
        yield
        return
    from opentelemetry.instrumentation.scenetest.harness import pytest_benchmark

    pytest_benchmark.LIBRARY.hook_loaded()
    # An item may run other items in this process, for example with pytester. Cases open before aren't theirs.
    item.stash[_BEFORE] = noted.opened() if _running else frozenset()
    _running.append(item.nodeid)
    # The item itself may call uninstrument().
    harnesses = state.harnesses
    for harness in harnesses:
        harness.start_item(item.nodeid)
    yield
    _running.pop()
    for harness in harnesses:
        harness.end_item()


def pytest_runtest_logreport(report: Any) -> None:
    """Store native timings from captured output, which pytest shows only for failing tests."""
    if state.instrumented and state.directory is not None:
        for title, text in report.sections:
            if title == f"Captured stderr {report.when}":
                for harness in state.harnesses:
                    harness.keep_timings("pytest", text)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, Any, None]:
    """Note how the item ended, for the open cases around it. A fixture doesn't see the exception of its test."""
    result = yield
    if not state.instrumented or result.excinfo is not None or _BEFORE not in item.stash:
        return
    # Use the report, because the exception doesn't show that a failure was expected or a success was not (xfail).
    report = result.get_result()
    if report.when == "call" or not report.passed:
        outcome = _OUTCOMES.get(report.outcome, UNKNOWN)
        noted.note(outcome, call.excinfo.value if call.excinfo else None, item.stash[_BEFORE])
