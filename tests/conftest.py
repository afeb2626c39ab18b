"""Fixtures of all tests, and what is said at their end."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("support.autoload_cells")

pytest_plugins = ["support.recorded", "support.stack", "support.tls", "support.watched"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many traps of the catalogue are answered rightly, if they were run."""
    counts = {
        outcome: sum(1 for one in terminalreporter.getreports(outcome) if "test_traps.py" in one.nodeid)
        for outcome in ("passed", "failed", "error")
    }
    if any(counts.values()):
        terminalreporter.write_line(f"traps answered rightly: {counts['passed']} of {sum(counts.values())}")
