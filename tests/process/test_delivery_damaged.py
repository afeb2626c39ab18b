"""Damaged, full or foreign files in a run: intact data is delivered, and other runs are not held up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.backends import Backend
from support.runner import CLI
from support.scripts import clean_environment, run_script
from support.watched import recorded

from opentelemetry.instrumentation.scenetest.deliver import delivery
from opentelemetry.instrumentation.scenetest.rundir import checkpoint, layout
from opentelemetry.instrumentation.scenetest.sources import stores

SPANS = 2
IN_A_TRACE = '"id":"00000000000000bb","trace":"000000000000000000000000000000aa"'

DAMAGED_LINES = {
    "brackets without end": "[" * 100_000,
    "a kind that is no text": '{"kind":[]}',
    "an id that is none": '{"kind":"open","span":"case","id":"zz","trace":"aa","at":1}',
    "an id that is a list": '{"kind":"open","span":"case","id":[],"trace":"aa","at":1}',
    "a time that is none": f'{{"kind":"open","span":"dispatch",{IN_A_TRACE},"at":NaN}}',
    "a time beyond all clocks": f'{{"kind":"open","span":"dispatch",{IN_A_TRACE},"at":{9**40}}}',
    "conditions that are none": '{"kind":"conditions","conditions":[]}',
    "a process without a number": '{"kind":"process","pid":"x","anchor":{}}',
    "bytes": "\0\x01\x02",
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with two runs that nobody has delivered."""
    for _ in range(2):
        run_script("instrument()\nwith case('S', 'c'), dispatch(): pass", env={"SCENETEST_OTEL_DIR": str(tmp_path)})
    return tmp_path


def push(store: Path, backend: Backend, prefix: str = "") -> subprocess.CompletedProcess[str]:
    command = ["sh", "-c", f'{prefix} exec "$0" push --dir "$1"', CLI, str(store)]
    env = clean_environment(OTEL_EXPORTER_OTLP_ENDPOINT=backend.url)
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("damage", DAMAGED_LINES)
def test_a_damaged_line_is_passed_over(damage: str, store: Path, backend: Backend) -> None:
    first, second = stores.all_runs(str(store))
    (path,) = first.glob(f"*{layout.JOURNAL_SUFFIX}")
    sound = recorded(first) | recorded(second)
    head, *rest = path.read_text().splitlines(keepends=True)
    path.write_text("".join([head, DAMAGED_LINES[damage] + "\n", *rest]))
    done = push(store, backend)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(backend.taken) == sound


def test_attributes_that_are_none_leave_the_span_without_any(store: Path, backend: Backend) -> None:
    first, _ = stores.all_runs(str(store))
    (path,) = first.glob(f"*{layout.JOURNAL_SUFFIX}")
    head, *rest = path.read_text().splitlines(keepends=True)
    path.write_text(
        "".join(
            [head, f'{{"kind":"open","span":"dispatch",{IN_A_TRACE},"at":1,"attributes":{{"a":[{{"b":1}}]}}}}\n', *rest]
        )
    )
    assert push(store, backend).returncode == 0
    assert len(backend.taken) == 2 * SPANS + 1


@pytest.mark.parametrize(
    "text",
    ["", "[]", "[" * 100_000, '{"id": "x", "by": "run", "started_unix_ns": "x", "ended_unix_ns": 1}'],
    ids=["empty", "a list", "brackets", "types"],
)
def test_damaged_facts_of_a_run_do_not_keep_its_spans_back(text: str, store: Path, backend: Backend) -> None:
    (stores.all_runs(str(store))[0] / layout.RUN_FILE).write_text(text)
    done = push(store, backend)
    assert (done.returncode, done.stderr, len(backend.taken)) == (0, "", 2 * SPANS)


@pytest.mark.parametrize("text", ["", "[]", '{"spans": -1}', '{"spans": null}', '{"complete": "false"}'])
def test_a_damaged_acknowledgement_has_everything_sent_again(text: str, store: Path, backend: Backend) -> None:
    (path,) = stores.all_runs(str(store))[0].glob(f"*{layout.JOURNAL_SUFFIX}")
    checkpoint.stem(path).with_suffix(layout.CHECKPOINT_SUFFIX).write_text(text)
    done = push(store, backend)
    assert (done.returncode, done.stderr, len(backend.taken)) == (0, "", 2 * SPANS)


def test_a_folder_that_is_named_like_a_journal_keeps_nothing_back(store: Path, backend: Backend) -> None:
    first, second = stores.all_runs(str(store))
    (first / f"folder{layout.JOURNAL_SUFFIX}").mkdir()
    done = push(store, backend)
    assert (done.returncode, done.stderr) == (0, "")
    assert delivery.is_delivered(first)
    assert delivery.is_delivered(second)


def test_a_full_disk_is_one_sentence_and_costs_one_batch_more(store: Path, backend: Backend) -> None:
    done = push(store, backend, "ulimit -f 0;")
    assert done.returncode == 3
    assert done.stderr.count("a file of it can't be used: File too large") == 2
    assert push(store, backend).returncode == 0
    assert (len(backend.taken), backend.repeats) == (2 * SPANS, 2 * SPANS)


def test_the_process_that_delivers_ends_in_a_sentence_where_the_disk_is_full(store: Path, backend: Backend) -> None:
    directory, _ = stores.all_runs(str(store))
    module = "opentelemetry.instrumentation.scenetest.deliver"
    command = ["sh", "-c", f'ulimit -f 0; exec "$0" -m {module} "$1"', sys.executable, str(directory)]
    env = clean_environment(OTEL_EXPORTER_OTLP_ENDPOINT=backend.url)
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    (line,) = done.stderr.splitlines()
    assert line.endswith("a file of it can't be used: File too large")


def test_a_run_without_its_own_file_is_delivered_to_the_end(store: Path, backend: Backend) -> None:
    directory, _ = stores.all_runs(str(store))
    (directory / layout.RUN_FILE).unlink()
    command = [sys.executable, "-m", "opentelemetry.instrumentation.scenetest.deliver", str(directory)]
    env = clean_environment(OTEL_EXPORTER_OTLP_ENDPOINT=backend.url)
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    (line,) = done.stderr.splitlines()
    assert "2 spans accepted" in line


def test_runs_of_others_in_a_store_of_many_are_passed_over(store: Path, backend: Backend) -> None:
    directory, _ = stores.all_runs(str(store))
    source = "import sys; from pathlib import Path; from opentelemetry.instrumentation.scenetest.sources import stores"
    source += "; print(len(stores.all_runs(sys.argv[1])), end='')"
    directory.chmod(0)
    unprivileged = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*unprivileged, sys.executable, "-c", source, str(store)], capture_output=True, text=True, check=True
    )
    directory.chmod(0o700)
    assert done.stdout == "1"
