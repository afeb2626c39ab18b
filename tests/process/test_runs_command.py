"""`runs`, `runs rm`, names of runs, and shell completion."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.backends import Backend, serving
from support.runner import CLI, recording, run
from support.scripts import clean_environment

from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.sources import stores

ONE_CASE = "\nwith case('S', 'c'):\n    with dispatch(): pass"


def call(store: Path, *arguments: str, expect: int = 0, **extra: str) -> subprocess.CompletedProcess[str]:
    environment = clean_environment(SCENETEST_OTEL_DIR=str(store), XDG_STATE_HOME=str(store / "state"), **extra)
    done = subprocess.run(
        [CLI, *arguments], env=environment, cwd=store, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two runs called `dup`, an older one called `other`, and one that recorded nothing."""
    store = tmp_path_factory.mktemp("store")
    run(store, recording(ONE_CASE), "--name", "other")
    run(store, recording(ONE_CASE), "--name", "dup")
    run(store, recording(ONE_CASE + "\nraise SystemExit(3)"), "--name", "dup", expect=3)
    run(store, ["true"], "--name", "nothing")
    return store


def test_a_name_means_the_newest_run_of_that_name(twice: Path) -> None:
    assert stores.find("dup", str(twice)) == twice / "dup-2"
    assert stores.find("dup@1", str(twice)) == twice / "dup"
    assert stores.find("dup@2", str(twice)) == twice / "dup-2"
    assert stores.find("dup-2", str(twice)) == twice / "dup-2"


def test_a_pattern_means_all_runs_that_it_matches(twice: Path) -> None:
    assert stores.find_all("dup*", str(twice)) == [twice / "dup", twice / "dup-2"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("dup@3", "no run 'dup@3': 'dup' has 2, dup@1 to dup@2"), ("dup@0", "no run 'dup@0': "), ("gone@1", "'gone'")],
)
def test_a_number_that_no_run_has_is_told(twice: Path, name: str, sentence: str) -> None:
    with pytest.raises(BadInputError) as caught:
        stores.find(name, str(twice))
    assert sentence in str(caught.value)


def test_a_pattern_for_one_run_that_matches_several_names_their_paths(twice: Path) -> None:
    done = call(twice, "show", "dup*", expect=2)
    assert f"{twice / 'dup'}, {twice / 'dup-2'}" in done.stderr


def test_the_list_is_newest_first_and_says_how_each_run_ended(twice: Path) -> None:
    rows: list[dict[str, Any]] = json.loads(call(twice, "runs", "--json").stdout)
    assert [(row["name"], row["verdict"], row["cases"], row["outcome"]) for row in rows] == [
        ("nothing", "EMPTY", 0, "exit 0"),
        ("dup-2", "CLEAN", 1, "exit 3"),
        ("dup", "CLEAN", 1, "exit 0"),
        ("other", "CLEAN", 1, "exit 0"),
    ]
    assert [row["delivered"] for row in rows] == [False] * 4
    assert rows[1]["ruler"] == rows[2]["ruler"] != "-"
    assert rows[1]["bytes"] == sum(file.stat().st_size for file in (twice / "dup-2").rglob("*"))


def test_the_table_says_how_many_older_runs_there_are(twice: Path) -> None:
    head, first, second, rest = call(twice, "runs", "-n", "2").stdout.splitlines()
    assert head.split() == ["name", "started", "verdict", "ruler", "cases", "outcome", "delivered", "size"]
    assert (first.split()[0], second.split()[0]) == ("nothing", "dup-2")
    assert rest == "2 older: scenetest-otel runs -n 0"


def test_an_empty_store_says_how_to_record(tmp_path: Path) -> None:
    assert "record one with: scenetest-otel run" in call(tmp_path, "runs").stdout


def test_an_undelivered_run_is_kept_until_that_is_asked_for(tmp_path: Path) -> None:
    run(tmp_path, recording(ONE_CASE), "--name", "mine")
    kept = call(tmp_path, "runs", "rm", "mine", expect=6)
    assert "kept mine: no backend has accepted all of it" in kept.stderr
    assert (tmp_path / "mine" / "run.json").exists()
    assert "would remove" in call(tmp_path, "runs", "rm", "mine", "--undelivered", "--dry-run").stdout
    assert (tmp_path / "mine" / "run.json").exists()
    call(tmp_path, "runs", "rm", "mine", "--undelivered")
    assert not (tmp_path / "mine").exists()


def test_a_delivered_run_is_removed(tmp_path: Path) -> None:
    run(tmp_path, recording(ONE_CASE), "--name", "mine")
    with serving(Backend()) as backend:
        call(tmp_path, "push", "mine", OTEL_EXPORTER_OTLP_ENDPOINT=backend.url)
    assert json.loads(call(tmp_path, "runs", "--json").stdout)[0]["delivered"] is True
    assert call(tmp_path, "runs", "rm", "*").stdout.startswith(f"removed {tmp_path / 'mine'}\n1 run, ")
    assert not (tmp_path / "mine").exists()


def test_runs_are_removed_by_age_and_by_size(tmp_path: Path) -> None:
    run(tmp_path, recording(ONE_CASE), "--name", "old")
    facts = json.loads((tmp_path / "old" / "run.json").read_text())
    (tmp_path / "old" / "run.json").write_text(json.dumps({**facts, "started_unix_ns": 10**18}))
    run(tmp_path, recording(ONE_CASE), "--name", "large")
    (tmp_path / "large" / "stdout.log").write_bytes(bytes(300_000))
    run(tmp_path, recording(ONE_CASE), "--name", "fresh")
    call(tmp_path, "runs", "rm", "--older-than", "30d", "--undelivered")
    assert not (tmp_path / "old").exists()
    call(tmp_path, "runs", "rm", "--larger-than", "200K", "--undelivered")
    assert [path.name for path in stores.all_runs(str(tmp_path))] == ["fresh"]


def test_a_run_that_goes_on_is_never_removed(tmp_path: Path) -> None:
    command = [CLI, "run", "--dir", str(tmp_path), "--name", "on", "--", "cat"]
    with subprocess.Popen(command, env=clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        while not (tmp_path / "on" / "stdout.log").exists():
            assert running.poll() is None
        assert "kept on: it is still being measured" in call(tmp_path, "runs", "rm", "on", expect=6).stderr
        running.communicate()


@pytest.mark.parametrize(
    "arguments", [(), ("--older-than", "soon"), ("--older-than", "3"), ("--larger-than", "big"), ("gone",)]
)
def test_what_names_no_run_is_one_sentence(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = call(tmp_path, "runs", "rm", *arguments, expect=2)
    assert done.stderr.startswith("scenetest-otel: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["show", "export", "push", "runs rm", "ingest", "compare"])
def test_the_shell_completes_the_names_of_runs(twice: Path, command: str) -> None:
    words = f"scenetest-otel {command} du"
    at = str(len(words.split()) - 1)
    done = call(twice, _SCENETEST_OTEL_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=at)
    assert done.stdout.splitlines() == ["plain,dup", "plain,dup-2"]


def test_a_check_of_the_verdict_has_an_exit_code_of_its_own(twice: Path, tmp_path: Path) -> None:
    call(twice, "show", "dup", "--require", "clean")
    backend = "import sys, types\nsys.modules['torch_npu'] = types.ModuleType('torch_npu')"
    run(tmp_path, recording(f"{backend}{ONE_CASE}"), "--name", "npu")
    done = call(tmp_path, "show", "npu", "--require", "clean", "--json", expect=6)
    assert done.stderr.startswith("scenetest-otel: npu is CONTAMINATED, not CLEAN: torch_npu")
    assert json.loads(done.stdout)["run"]["name"] == "npu"


def test_an_error_is_json_where_json_was_asked_for(tmp_path: Path) -> None:
    done = call(tmp_path, "show", "gone", "--json", expect=2)
    error = json.loads(done.stdout)["error"]
    assert error["code"] == 2
    assert done.stderr == f"scenetest-otel: {error['message']}\n"
    assert json.loads(call(tmp_path, "compare", "a", "--", "b", "--json", expect=2).stdout)["error"]["code"] == 2


def test_run_can_require_that_something_was_recorded(tmp_path: Path) -> None:
    run(tmp_path, ["true"], "--require-record", expect=6)
    run(tmp_path, [sys.executable, "-c", "raise SystemExit(5)"], "--require-record", expect=5)
    run(tmp_path, recording(ONE_CASE), "--require-record")


def test_a_command_that_fails_before_its_first_case_is_not_our_fault(tmp_path: Path) -> None:
    done = run(tmp_path, [sys.executable, "-c", "raise SystemExit(2)"], expect=2)
    assert done.stderr.decode() == (
        "scenetest-otel: the command ended with exit code 2 before a case or a dispatch began\n"
    )


def test_the_instrumentor_is_where_others_have_theirs() -> None:
    source = (
        "import sys, opentelemetry.instrumentation.scenetest as package\n"
        "assert 'opentelemetry.instrumentation.instrumentor' not in sys.modules\n"
        "from opentelemetry.instrumentation.scenetest import SceneTestInstrumentor\n"
        "print(SceneTestInstrumentor.__module__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], env={**os.environ}, capture_output=True, text=True, check=False
    )
    assert done.stdout == "opentelemetry.instrumentation.scenetest.entrypoints.instrumentor\n", done.stderr
