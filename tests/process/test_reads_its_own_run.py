"""A program may read the files of its own run: that releases no lock, and nothing is sent while it measures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.backends import Backend
from support.recorded import DISPATCHES, SPANS, deliver
from support.scripts import clean_environment, program
from support.stack import eventually
from support.watched import delivered, settings

from opentelemetry.instrumentation.scenetest.deliver import delivery
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.rundir import checkpoint, layout
from opentelemetry.instrumentation.scenetest.sources import runs

READS = 60
PROCESSES = 3


def test_nothing_is_delivered_while_a_program_reads_its_own_run_directory(backend: Backend, store: Path) -> None:
    command, env = program("reads_its_run.py", str(READS)), clean_environment(**settings(backend, store))
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"measured\n"
        assert backend.requests == 0
    delivered(backend, store, READS + 1)
    print(f"{READS} reads of the whole run: 0 spans lost, 0 invented")


def test_processes_of_one_run_that_read_the_files_of_each_other_lose_nothing(backend: Backend, store: Path) -> None:
    source = f"import subprocess\ninstrument()\nfor p in [subprocess.Popen({program('reads_its_run.py', '20')!r}) "
    source += f"for _ in range({PROCESSES})]: p.wait()"
    script = "from opentelemetry.instrumentation.scenetest import instrument\n" + source
    subprocess.run(
        [sys.executable, "-c", script],
        env=clean_environment(**settings(backend, store)),
        check=True,
        capture_output=True,
    )
    delivered(backend, store, PROCESSES * 21)


def test_a_journal_that_has_grown_after_it_was_acknowledged_is_sent_anew(backend: Backend, run_directory: Path) -> None:
    (journal,) = layout.journals(run_directory)
    whole = journal.read_bytes()
    lines = whole.splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:101]))
    to = Endpoint(f"{backend.url}/v1/traces", "http/protobuf")
    deliver(run_directory, to)
    assert delivery.is_delivered(run_directory)
    early = set(backend.taken)
    assert len(early) < SPANS
    journal.write_bytes(whole)
    assert not checkpoint.is_complete(journal)
    assert not delivery.is_delivered(run_directory)
    assert delivery.count_left(run_directory) == SPANS
    deliver(run_directory, to)
    assert delivery.is_delivered(run_directory)
    assert len(backend.taken) == SPANS
    assert early < set(backend.taken)
    (recorded,) = runs.load(run_directory).processes[0].cases
    assert len(recorded.dispatches) == DISPATCHES


def test_a_journal_that_stays_as_it_was_is_not_sent_again(backend: Backend, run_directory: Path) -> None:
    to = Endpoint(f"{backend.url}/v1/traces", "http/protobuf")
    deliver(run_directory, to)
    (journal,) = layout.journals(run_directory)
    os.utime(journal)
    deliver(run_directory, to)
    assert backend.repeats == 0
    assert eventually(lambda: len(backend.taken) == SPANS)
