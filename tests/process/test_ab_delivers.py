"""`scenetest-otel ab` delivers its runs only after the last measurement."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support.backends import Backend
from support.runner import CLI
from support.scripts import clean_environment, program
from support.watched import backend, recorded, settings, store

from opentelemetry.instrumentation.scenetest.rundir import layout
from opentelemetry.instrumentation.scenetest.sources import stores

__all__ = ["backend", "store"]


def ab(backend: Backend, store: Path, *command: str) -> subprocess.CompletedProcess[str]:
    call = [CLI, "ab", "--dir", str(store), "--name", "x", "-n", "2", "--arm", "base=.", "--no-warm-up", "--", *command]
    env = clean_environment(**settings(backend, store))
    return subprocess.run(call, env=env, capture_output=True, text=True, timeout=120, check=False, cwd=store.parent)


def test_nothing_is_delivered_before_the_last_run_and_then_everything(backend: Backend, store: Path) -> None:
    nobody_delivers = f"! ls {store}/*/{layout.DELIVERY_LOCK} && exec {' '.join(program('sleeps.py'))}"
    done = ab(backend, store, "sh", "-c", nobody_delivers)
    directories = stores.all_runs(str(store))
    assert len(directories) == 4
    assert done.stderr.count("  ok") == 4, done.stderr
    assert set(backend.taken) >= set[bytes]().union(*map(recorded, directories))
    assert backend.repeats == 0
    assert "spans of 4 runs delivered to " in done.stderr
    assert not list(store.glob(f"*/{layout.DELIVERY_LATER}"))
    assert done.returncode == 0


def test_a_backend_that_refuses_leaves_the_comparison_and_its_exit_code(backend: Backend, store: Path) -> None:
    backend.answer = "401"
    done = ab(backend, store, *program("sleeps.py"))
    assert "dispatch: 2 pairs" in done.stdout, done.stderr
    assert "to send what is left: scenetest-otel push" in done.stderr
    assert done.returncode == 0
