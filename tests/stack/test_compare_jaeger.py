"""Arms read from a real Jaeger give the same numbers as the journals of the same runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.harness import HARNESS
from support.runner import CLI
from support.scripts import PROGRAMS, clean_environment
from support.stack import Jaeger, eventually

from opentelemetry.instrumentation.scenetest.rundir import run_file
from opentelemetry.instrumentation.scenetest.sources import jaeger as backend

SCENE = ("scenes/test_group.py", "-p", "a2a3sim", "-d", "0-1", "--runtime", "tensormap_and_ringbuffer", "--level", "3")
LABELS = ("base_run", "measure_run")


def call(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [CLI, *words], cwd=HARNESS, env=clean_environment(**env), capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, jaeger: Jaeger) -> Path:
    """Two runs of one name in each arm, two devices each with native timings, recorded and then delivered."""
    path = tmp_path_factory.mktemp("store")
    for name in ("base", "meas", "meas", "base"):
        words = ("run", "--dir", str(path), "--name", name, "--", sys.executable, *SCENE, "--rounds", "4")
        done = call(*words, PYTHONPATH=str(HARNESS), TORCH_DEVICE_BACKEND_AUTOLOAD="0")
        assert done.returncode == 0, done.stdout + done.stderr
    done = call("push", "--dir", str(path), OTEL_EXPORTER_OTLP_ENDPOINT=jaeger.otlp.http)
    assert done.returncode == 0, done.stderr
    ids = [run_file.read(directory)["id"] for directory in path.iterdir() if directory.is_dir()]
    for run in ids:
        assert eventually(lambda run=run: jaeger.traces("scenetest", {"scenetest.run.id": run}))
    return path


def compared(*words: str, **env: str) -> dict[str, Any]:
    done = call("compare", *words, "--json", **env)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    for case in document["cases"]:
        for row in case["rows"]:
            for pair in row["pairs"]:
                assert [pair.pop(label) for label in LABELS]
    return document


def test_the_numbers_are_those_of_the_journals_to_the_nanosecond(store: Path, jaeger: Jaeger) -> None:
    journals = compared("base*", "--", "meas*", "--dir", str(store))
    arms = ("jaeger:scenetest.run.name=base", "--", "jaeger:scenetest.run.name=meas")
    found = eventually(lambda: compared(*arms, "--jaeger", jaeger.ui), lambda one: one["cases"] == journals["cases"])
    assert found["cases"] == journals["cases"]
    assert found["ruler"] == journals["ruler"]
    names = {row["name"] for row in found["cases"][0]["rows"]}
    assert {"dispatch", "Host"} <= names
    assert found["runs"] == {"base": ["base-1", "base-2"], "measure": ["meas-1", "meas-2"]}


def test_a_search_that_reaches_the_limit_is_asked_again_in_slices(
    store: Path, jaeger: Jaeger, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = backend.read("scenetest.run.name=base", jaeger.ui)
    monkeypatch.setattr(backend, "_AT_ONCE", 2)
    assert backend.read("scenetest.run.name=base", jaeger.ui) == whole


def test_the_address_may_come_from_the_environment(store: Path, jaeger: Jaeger) -> None:
    arms = ("jaeger:scenetest.run.name=base", "--", "jaeger:scenetest.run.name=meas")
    assert compared(*arms, SCENETEST_OTEL_JAEGER=jaeger.ui)["ruler"]["same"]


@pytest.mark.parametrize(
    ("arm", "sentence"),
    [
        ("jaeger:scenetest.run.name=nobody", "there is no dispatch with scenetest.run.name=nobody"),
        ("jaeger:", "jaeger: asks for nothing; name attributes, as in jaeger:scenetest.run.name=base"),
    ],
)
def test_an_arm_that_means_nothing_is_bad_input(jaeger: Jaeger, arm: str, sentence: str) -> None:
    done = call("compare", arm, "--", "jaeger:a=b", "--jaeger", jaeger.ui)
    assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        (None, "needs a Jaeger: give its address with --jaeger or SCENETEST_OTEL_JAEGER"),
        ("localhost", "this is no address, as http://localhost:16686 is"),
        ("http://127.0.0.1:9", "Jaeger at http://127.0.0.1:9 does not answer"),
    ],
)
def test_a_jaeger_that_can_not_be_asked_is_one_sentence(url: str | None, sentence: str) -> None:
    done = call("compare", "jaeger:a=b", "--", "jaeger:a=c", *(("--jaeger", url) if url else ()))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert sentence in done.stderr


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, jaeger: Jaeger) -> Path:
    """A kernel inside each step of a case with attributes; two of the four runs end with a wrong result."""
    path = tmp_path_factory.mktemp("results")
    for name, wrong in (("right", ""), ("other", ""), ("wrong", "wrong result"), ("alone", "")):
        program = "compare_result.py" if name != "alone" else "recorder/decorated_functions.py"
        words = ("run", "--dir", str(path), "--name", name, "--", sys.executable, str(PROGRAMS / program))
        assert call(*words, WRONG=wrong).returncode == bool(wrong)
    assert call("push", "--dir", str(path), OTEL_EXPORTER_OTLP_ENDPOINT=jaeger.otlp.http).returncode == 0
    for run in [run_file.read(directory)["id"] for directory in path.iterdir() if directory.is_dir()]:
        assert eventually(lambda run=run: jaeger.traces("scenetest", {"scenetest.run.id": run}))
    return path


@pytest.mark.parametrize(("measure", "code"), [("other", 0), ("wrong", 7), ("alone", 7)])
def test_what_is_left_out_and_told_apart_is_the_same_as_from_the_journals(
    results: Path, jaeger: Jaeger, measure: str, code: int
) -> None:
    stored = call("compare", "right", "--", measure, "--dir", str(results), "--json")
    arms = ("jaeger:scenetest.run.name=right", "--", f"jaeger:scenetest.run.name={measure}")
    found = call("compare", *arms, "--jaeger", jaeger.ui, "--json")
    assert (stored.returncode, found.returncode) == (code, code), stored.stderr + found.stderr
    journals, answered = json.loads(stored.stdout), json.loads(found.stdout)
    for key in ("headline", "verdict", "ending", "ruler", "left_out", "unmatched", "cases"):
        assert answered[key] == journals[key]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, jaeger: Jaeger) -> Path:
    """Runs whose programs exported their spans themselves; the last one failed."""
    path = tmp_path_factory.mktemp("live")
    program = [sys.executable, str(PROGRAMS / "otel/live_to_backend.py")]
    for name, code in (("live-a", 0), ("live-b", 0), ("live-failed", 3)):
        words = ["run", "--dir", str(path), "--name", name, "--", *program]
        done = call(*words, SINK=jaeger.otlp.http, EXIT=str(code), OTEL_SERVICE_NAME="live-app")
        assert done.returncode == code, done.stderr
    assert call("push", "--dir", str(path), OTEL_EXPORTER_OTLP_ENDPOINT=jaeger.otlp.http).returncode == 0
    for name in ("live-a", "live-b", "live-failed"):
        # The spans of the program, and that of the run.
        asked = {"scenetest.run.name": name}
        assert eventually(lambda asked=asked: len(jaeger.traces("live-app", asked)), lambda found: found == 2) == 2
    return path


@pytest.mark.parametrize("measure", ["live-b", "live-failed"])
def test_live_spans_count_with_what_was_measured_and_a_failed_run_is_left_out(
    live: Path, jaeger: Jaeger, measure: str
) -> None:
    stored = call("compare", "live-a", "--", measure, "--dir", str(live), "--json")
    arms = ("jaeger:scenetest.run.name=live-a", "--", f"jaeger:scenetest.run.name={measure}")
    found = call("compare", *arms, "--jaeger", jaeger.ui, "--json")
    assert found.returncode == stored.returncode, stored.stderr + found.stderr
    journals, answered = json.loads(stored.stdout), json.loads(found.stdout)
    for key in ("headline", "verdict", "ending", "ruler", "left_out", "cases"):
        assert answered[key] == journals[key]
    assert bool(answered["left_out"]) == (measure == "live-failed")
