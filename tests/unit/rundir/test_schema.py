"""Journals of every schema that was ever written: each is kept in tests/data for good."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from opentelemetry.instrumentation.scenetest.cli import main
from opentelemetry.instrumentation.scenetest.conditions import table
from opentelemetry.instrumentation.scenetest.rundir import layout, reader
from opentelemetry.instrumentation.scenetest.sources import runs

JOURNALS = Path(__file__).parents[2] / "data" / "journals"


def run_of(schema: int, folder: Path, pid: int = 4242) -> Path:
    folder.mkdir()
    text = (JOURNALS / f"schema-{schema}.jsonl").read_text()
    (folder / f"{pid}-0badcafe.jsonl").write_text(text.replace('"pid":4242', f'"pid":{pid}'))
    return folder


def test_a_journal_of_every_schema_is_kept() -> None:
    kept = {path.name for path in JOURNALS.iterdir()}
    assert kept == {f"schema-{number}.jsonl" for number in range(1, layout.SCHEMA + 1)}


@pytest.mark.parametrize("schema", range(1, layout.SCHEMA + 1))
def test_its_cases_and_dispatches_are_read(schema: int, tmp_path: Path) -> None:
    run = runs.load(run_of(schema, tmp_path / "run"))
    (process,) = run.processes
    assert process.record.ended == "clean"
    assert [(one.span.suite, one.span.name, one.span.outcome) for one in process.cases] == [
        ("TestVector", "default", "pass"),
        ("TestVector", "with_torch", "pass"),
    ]
    assert [[one.outcome for one in case.dispatches] for case in process.cases] == [["pass", "pass"], ["error"]]
    assert [one.attributes["scenetest.callable"] for one in process.dispatches] == ["warm_up"]
    assert run.problems == {}


def test_what_an_older_schema_could_not_hold_is_not_recorded_and_never_equal() -> None:
    journal = reader.Journal(JOURNALS / "schema-1.jsonl")
    assert journal.process.conditions["torch.backends_loaded"] == "not recorded"
    assert journal.process.conditions["process.runtime.version"] == journal.process.facts["python"]
    assert {one.ruler for one in journal.spans() if one.kind == "dispatch"} == {"unknown"}
    younger = table.younger_than(1)
    assert "scenetest.python.tracing" in younger
    assert "scenetest.level" not in younger
    assert table.younger_than(layout.SCHEMA) == []


def test_a_comparison_with_an_older_record_has_to_be_allowed(tmp_path: Path) -> None:
    # Beside what was not recorded these two differ in torch: the older one looked at it later.
    old, new = run_of(1, tmp_path / "old"), run_of(layout.SCHEMA, tmp_path / "new", 4243)
    command = ["compare", str(old), "--", str(new), "--allow", "torch"]
    refused = CliRunner().invoke(main, command)
    assert refused.exit_code == 4
    assert "conditions were not recorded; --allow not-recorded accepts that" in refused.output
    accepted = CliRunner().invoke(main, [*command, "--allow", "not-recorded"])
    assert accepted.exit_code != 4, accepted.output
    assert "conditions of the ruler were not recorded" in accepted.output


def test_a_newer_schema_is_refused_in_one_sentence_with_both_numbers(tmp_path: Path) -> None:
    directory = run_of(layout.SCHEMA, tmp_path / "run")
    (journal,) = directory.iterdir()
    journal.write_bytes(journal.read_bytes().replace(b'"schema":%d' % layout.SCHEMA, b'"schema":99', 1))
    for command in (["show", str(directory)], ["compare", str(directory), "--", str(directory)]):
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 2
        assert f"has schema 99 and this version reads up to {layout.SCHEMA}" in result.output
        assert "Traceback" not in result.output
    shutil.rmtree(directory)
