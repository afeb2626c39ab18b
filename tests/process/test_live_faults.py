"""Live spans of programs that are killed, shut their provider down, or pass a provider that makes no spans."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from support.backends import Backend
from support.live import run_live
from support.runner import CLI
from support.scripts import PROGRAMS, clean_environment, only_run, program, run_script
from support.stack import eventually

from opentelemetry.instrumentation.scenetest.deliver import delivery


def scenetest_otel(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([CLI, *words], env=clean_environment(**env), capture_output=True, text=True, check=False)


def test_children_lie_within_their_parents_and_none_lasted_longer_than_its_span(tmp_path: Path) -> None:
    exported, _ = run_live(PROGRAMS / "live/nested_times.py", tmp_path)
    spans = {span["id"]: span for span in exported}
    assert len(spans) == 500
    for span in exported:
        above = spans.get(span["parent"])
        if above is not None:
            assert above["start"] <= span["start"] <= span["end"] <= above["end"], (above["name"], span["name"])
        assert span["attributes"].get("scenetest.duration_ns", 0) <= span["end"] - span["start"]


def test_the_span_of_a_process_is_exported_before_the_program_shuts_its_provider_down(tmp_path: Path) -> None:
    exported, _ = run_live(PROGRAMS / "live/shut_down.py", tmp_path)
    dispatch, process = exported
    assert (dispatch["name"], process["name"]) == ("dispatch f", "shut_down.py")
    assert dispatch["parent"] == process["id"]


def test_spans_of_a_killed_program_are_offered_and_sent_by_push_live(tmp_path: Path, backend: Backend) -> None:
    env = {"SPANS": str(tmp_path / "spans"), "SCENETEST_OTEL_EXIT_WAIT": "60"}
    to_backend = {"OTEL_EXPORTER_OTLP_ENDPOINT": backend.url}
    store = str(tmp_path / "store")
    done = scenetest_otel("run", "--dir", store, "--name", "x", "--", *program("live/killed.py"), **env, **to_backend)
    assert done.returncode == -signal.SIGKILL
    offered = f"scenetest-otel push --live {store}/x"
    assert "4 spans made on the program's own tracer provider may not have been exported" in done.stderr
    assert done.stderr.rstrip().endswith(offered)
    again = scenetest_otel("push", "x", "--dir", store, **to_backend)
    assert again.stdout.startswith("nothing is left to deliver\n4 spans made on the program's own tracer provider")
    sent = scenetest_otel("push", "x", "--dir", store, "--live", **to_backend)
    assert sent.stdout == f"4 spans of 1 run delivered to {backend.url}/v1/traces\n"
    assert scenetest_otel("push", "--dir", store, "--live", **to_backend).stdout == "nothing is left to deliver\n"
    assert (len(backend.taken), backend.repeats) == (5, 0)


def test_spans_of_a_program_that_ended_in_order_are_not_offered(tmp_path: Path, backend: Backend) -> None:
    env = {"SPANS": str(tmp_path / "spans"), "SCENETEST_OTEL_DIR": str(tmp_path / "store")}
    done = run_script(PROGRAMS / "live/nested_times.py", env=env)
    assert done.returncode == 0, done.stderr
    sent = scenetest_otel("push", "--dir", str(tmp_path / "store"), "--live", OTEL_EXPORTER_OTLP_ENDPOINT=backend.url)
    assert sent.stdout.splitlines()[0].startswith("0 spans of 1 run delivered")
    assert len(backend.taken) == 0


def test_where_the_provider_takes_too_few_attributes_those_of_the_program_go_first(tmp_path: Path) -> None:
    exported, _ = run_live(PROGRAMS / "live/limited.py", tmp_path)
    assert [span["name"] for span in exported] == ["dispatch S::c", "S::c"]
    for span in exported:
        found = span["attributes"]
        assert len(found) == 60
        ours = {"scenetest.ruler", "scenetest.outcome", "torch.backend_autoload.effective", "scenetest.level"}
        assert ours <= found.keys()
        assert found["test.suite.name"] == "S"
        assert found["scenetest.duration_ns"] > 0
        mine = [name for name in found if name.startswith("mine.")]
        assert mine
        assert mine[-1] == "mine.99"


@pytest.mark.parametrize(
    ("program_does", "offered"), [("nothing", 3), ("early", 3), ("flush", 0), ("shutdown", 0), ("exit", 0)]
)
def test_spans_of_a_provider_that_nobody_flushes_are_offered(program_does: str, offered: int, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    command = program("live/not_flushed.py", program_does)
    done = scenetest_otel("run", "--dir", store, "--name", "x", "--", *command, SPANS=str(tmp_path / "spans"))
    assert done.returncode == 0, done.stderr
    sentence = f"{offered} spans made on the program's own tracer provider may not have been exported"
    assert (sentence in done.stderr) == bool(offered), done.stderr
    assert ("push --live" in done.stderr) == bool(offered)
    exported = (tmp_path / "spans").read_text().count("\n")
    assert exported == {"nothing": 0, "early": 1}.get(program_does, 3)


@pytest.mark.parametrize(("flushed", "offered"), [(["first", "second"], False), (["second"], True), (["first"], True)])
def test_spans_are_offered_if_one_of_two_providers_was_not_flushed(
    flushed: list[str], offered: bool, tmp_path: Path
) -> None:
    command = program("live/two_providers.py", *flushed)
    done = scenetest_otel("run", "--dir", str(tmp_path / "store"), "--", *command, SPANS=str(tmp_path / "spans"))
    assert done.returncode == 0, done.stderr
    assert ("push --live" in done.stderr) == offered


def test_a_child_that_could_not_flush_offers_its_spans(tmp_path: Path) -> None:
    env = {"SPANS": str(tmp_path / "spans"), "SCENETEST_OTEL_DIR": str(tmp_path / "store")}
    done = run_script(PROGRAMS / "live/dead_backend_in_a_forked_child.py", env=env)
    assert done.returncode == 0, done.stderr
    child = next(process for process in only_run(tmp_path / "store").processes if process.record.unflushed)
    assert child.record.ended == "clean"


def test_a_child_that_ends_by_os_exit_alone_keeps_its_spans_in_the_journal(tmp_path: Path, backend: Backend) -> None:
    store = tmp_path / "store"
    source = """
provider = make_provider(BatchSpanProcessor)
instrument(tracer_provider=provider)
child = os.fork()
if child == 0:
    with case("S", "c"), dispatch(): pass
    os._exit(0)
os.waitpid(child, 0)
"""
    exported, _ = run_live(source, tmp_path, env={"SCENETEST_OTEL_DIR": str(store)})
    assert exported == []
    sent = scenetest_otel("push", "--dir", str(store), "--live", OTEL_EXPORTER_OTLP_ENDPOINT=backend.url)
    assert sent.stdout == f"2 spans of 1 run delivered to {backend.url}/v1/traces\n"


@pytest.mark.parametrize("given", ["trace.get_tracer_provider()", "trace.NoOpTracerProvider()"])
def test_with_a_provider_that_makes_no_spans_it_is_as_if_none_had_been_given(
    given: str, tmp_path: Path, backend: Backend
) -> None:
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": backend.url,
        "SCENETEST_OTEL_DIR": str(tmp_path),
        "SCENETEST_OTEL_EXIT_WAIT": "60",
    }
    source = (
        f"from opentelemetry import trace\ninstrument(tracer_provider={given})\nwith case('S', 'c'), dispatch(): pass"
    )
    done = run_script(source, env=env)
    assert done.returncode == 0, done.stderr
    assert eventually(lambda: delivery.is_delivered(only_run(tmp_path).path))
    assert len(backend.taken) == 2
    assert os.listdir(tmp_path)
