"""`scenetest-otel ingest`: adds logs to a run, or creates a run from a log alone."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from support.backends import Backend, serving
from support.markers import LOGS, strace
from support.scripts import record

from opentelemetry.instrumentation.scenetest.analyse import contamination
from opentelemetry.instrumentation.scenetest.analyse.runs import Run
from opentelemetry.instrumentation.scenetest.cli.ingest import ingest
from opentelemetry.instrumentation.scenetest.cli.show import show
from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS, RULER
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED
from opentelemetry.instrumentation.scenetest.deliver import delivery
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.native import alone
from opentelemetry.instrumentation.scenetest.rundir import reader, run_file
from opentelemetry.instrumentation.scenetest.sources import runs

AUTOLOAD = 'torch_backend_autoload setting=0 raw="0" raw_truncated=false effective=disabled torch_imported=true'
STAMP = (
    "[stamp] 6ebaf771 env SIMPLER_HBG_BIND_BREAKDOWN_ENABLE=1 python test_x.py -p a2a3sim --skip-golden --rounds 2\n"
)


def ingested(run: Path, *logs: Path) -> str:
    result = CliRunner().invoke(ingest, [str(run), *map(str, logs)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def made_of(log: Path, tmp_path: Path) -> Run:
    ingested(tmp_path / "store" / "made", log)
    return runs.load(tmp_path / "store" / "made")


def written(tmp_path: Path, text: str) -> Path:
    log = tmp_path / "a.log"
    log.write_text(text)
    return log


def test_a_log_alone_becomes_a_run_with_its_cases_and_every_marker_placed(tmp_path: Path) -> None:
    run = made_of(LOGS / "l3-two-devices.log", tmp_path)
    (process,) = run.processes
    (case,) = process.cases
    assert (process.record.pid, process.record.ended) == (15239, "not recorded")
    assert (case.span.suite, case.span.name, case.span.outcome) == ("TestL3Group", "default", "pass")
    assert case.span.attributes["scenetest.runtime"] == "tensormap_and_ringbuffer"
    assert case.span.attributes["scenetest.level"] == 3
    assert [dispatch.round for dispatch in case.dispatches] == [0, 1, 2]
    counts = run.native().counts
    assert (counts.seen, counts.unplaced, counts.torn) == (114, 0, 0)


def test_at_level_2_every_pass_stands_for_a_dispatch(tmp_path: Path) -> None:
    (process,) = made_of(LOGS / "l2.log", tmp_path).processes
    (case,) = process.cases
    assert [dispatch.duration_ns for dispatch in case.dispatches] == [78756525, 66725137, 77443103]
    assert {dispatch.attributes["scenetest.derived"] for dispatch in case.dispatches} == {"native markers"}


def test_the_run_is_dated_by_the_clock_anchor_of_the_log(tmp_path: Path) -> None:
    run = made_of(LOGS / "l2.log", tmp_path)
    assert run.facts["started_unix_ns"] == 1796040228798315710
    (process,) = run.processes
    first = process.cases[0].dispatches[0]
    assert process.record.unix_ns(first.start_ns) == 740330204993 + 1796040228798315710 - 739867918068


def test_what_a_log_does_not_tell_is_not_recorded(tmp_path: Path) -> None:
    run = made_of(LOGS / "l2.log", tmp_path)
    (process,) = run.processes
    of_case = process.cases[0].span.attributes
    of_process = process.record.conditions
    on_progress = {"scenetest.runtime", "scenetest.level"}
    for key in set(RULER) - on_progress:
        holder = of_process if CONDITIONS[key].scope == "process" else of_case
        assert holder[key] == NOT_RECORDED
    assert process.cases[0].dispatches[0].ruler == "unknown"
    assert contamination.verdict(run).word == "UNKNOWN"


def test_the_autoload_line_and_the_stamp_are_its_conditions(tmp_path: Path) -> None:
    text = STAMP + f"[T][TIMING] {AUTOLOAD} torch_npu_loaded=false\n" + (LOGS / "l2.log").read_text()
    run = made_of(written(tmp_path, text), tmp_path)
    (process,) = run.processes
    conditions, case = process.record.conditions, process.cases[0].span
    assert conditions["torch.backend_autoload.effective"] == "disabled"
    assert conditions["torch.backend_autoload.setting"] == "0"
    assert conditions["torch_npu.loaded"] is False
    assert conditions["vcs.ref.head.revision"] == "6ebaf771"
    assert conditions["scenetest.env.simpler_hbg_bind_breakdown_enable"] is True
    assert (case.attributes["scenetest.platform"], case.attributes["scenetest.golden_skipped"]) == ("a2a3sim", True)
    assert run.command[:2] == ["env", "SIMPLER_HBG_BIND_BREAKDOWN_ENABLE=1"]
    assert contamination.verdict(run).word == "CLEAN"


def test_autoload_lines_that_disagree_belong_to_nobody_in_particular(tmp_path: Path) -> None:
    lines = [f"{AUTOLOAD} torch_npu_loaded={loaded}\n" for loaded in ("true", "false")]
    (process,) = made_of(written(tmp_path, "".join(lines) + strace("chip.run", 5, 5)), tmp_path).processes
    assert process.record.conditions["torch_npu.loaded"] == "unknown"
    assert process.record.conditions["torch.backend_autoload.effective"] == "disabled"


def test_a_case_that_the_log_does_not_see_end_is_aborted(tmp_path: Path) -> None:
    text = "  TestVector::default ...\n" + strace("chip.run", 5, 5)
    (process,) = made_of(written(tmp_path, text), tmp_path).processes
    assert (process.record.ended, process.cases[0].span.outcome) == ("lost", "aborted")


def test_a_log_without_cases_is_a_case_of_its_name(tmp_path: Path) -> None:
    (process,) = made_of(written(tmp_path, strace("chip.run", 5, 5)), tmp_path).processes
    assert [(case.span.suite, case.span.name) for case in process.cases] == [("", "a")]


def test_show_leaves_out_where_a_case_ran_if_the_log_does_not_tell(tmp_path: Path) -> None:
    ingested(tmp_path / "made", written(tmp_path, strace("chip.run", 100, 50)))
    shown = CliRunner().invoke(show, [str(tmp_path / "made")]).output
    assert "::a  unknown  1 round" in shown


def test_a_log_that_is_added_again_changes_nothing(tmp_path: Path) -> None:
    log = LOGS / "l2.log"
    assert "39 markers, all placed, none torn\n" in ingested(tmp_path / "made", log)
    before = json.loads(CliRunner().invoke(show, [str(tmp_path / "made"), "--json", "--native"]).output)
    assert "39 markers, all placed, none torn, 1 of 1 logs were there already" in ingested(tmp_path / "made", log)
    after = json.loads(CliRunner().invoke(show, [str(tmp_path / "made"), "--json", "--native"]).output)
    assert after == before


def test_a_log_is_added_to_a_recorded_run_and_part_of_it_again_without_duplicates(tmp_path: Path) -> None:
    run = record(
        """
        import os, time
        instrument()
        with case("S", "c"), dispatch():
            who, when = f"pid={os.getpid()} tid=1", f"ts={time.monotonic_ns()} dur=9"
            with open(os.environ["LOG"], "w") as log:
                log.write(f"[STRACE] v=1 {who} inv=1 hid=0 depth=0 name=chip.run {when} \\n")
        """,
        tmp_path / "store",
        env={"LOG": str(tmp_path / "host.log")},
    )
    assert "1 marker, all placed, none torn" in ingested(run.path, tmp_path / "host.log")
    more = tmp_path / "more.log"
    more.write_text((tmp_path / "host.log").read_text() + strace("chip.run", 1, 2, pid=99))
    assert "2 markers, 1 not placed, none torn" in ingested(run.path, more)
    (dispatch,) = runs.load(run.path).processes[0].cases[0].dispatches
    assert dispatch.outcome == "pass"


def test_logs_of_the_processes_of_one_run_are_one_run(tmp_path: Path) -> None:
    node, chip = tmp_path / "host.1.log", tmp_path / "host.7.log"
    node.write_text("".join(strace("node.graph_build", start, 50, pid=1, inv=start) for start in (100, 200)))
    chip.write_text("".join(strace("chip.run", start, 20, pid=7, inv=start) for start in (110, 210)))
    assert "4 markers, all placed, none torn" in ingested(tmp_path / "made", node, chip)
    (process,) = runs.load(tmp_path / "made").processes
    assert process.record.pid == 1
    assert [case.span.name for case in process.cases] == ["host.1"]
    assert len(process.cases[0].dispatches) == 2


def test_a_log_that_is_added_after_delivery_is_delivered_with_the_ids_that_were_there(tmp_path: Path) -> None:
    first, second = tmp_path / "first.log", tmp_path / "second.log"
    first.write_text(strace("chip.run", 10, 30, inv=1))
    second.write_text(strace("chip.run.bind", 15, 5, inv=1, depth=1))
    directory = tmp_path / "made"

    def deliver() -> int:
        exporter = delivery.exporter_for(Endpoint(f"{backend.url}/v1/traces", "http/protobuf", 2))
        tally = delivery.Delivery(directory, run_file.read(directory), exporter, 0).deliver()
        exporter.shutdown()
        return tally.accepted

    ingested(directory, first)
    with serving(Backend()) as backend:
        assert deliver() == 3  # case, dispatch, chip.run
        assert delivery.is_delivered(directory)
        assert "scenetest-otel push" in ingested(directory, second)
        assert not delivery.is_delivered(directory)
        assert deliver() == 2  # the native spans
        assert (len(backend.taken), backend.repeats) == (4, 1)
        assert delivery.is_delivered(directory)


LINES = [
    *(LOGS / "l3-two-devices.log").read_text().splitlines(keepends=True)[:30],
    *(LOGS / "l2-bind-phases.log").read_text().splitlines(keepends=True)[:20],
    STAMP,
    '[stamp] a "b\n',
    f"{AUTOLOAD} torch_npu_loaded=true\n",
    "  TestL3Group::default FAILED: 3 elements differ\n",
]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=40))
def test_whatever_the_order_of_its_lines_a_log_gives_whole_journals_or_none(lines: list[str]) -> None:
    with TemporaryDirectory() as directory:
        log = written(Path(directory), "".join(lines))
        try:
            on_progress = alone.listen([log])
        except BadInputError:
            return
        for name, text in alone.journals(on_progress, "seed"):
            (Path(directory) / name).write_text(text)
            recorded = reader.Journal(Path(directory) / name)
            expected = {"case", "dispatch"} if on_progress.cases else {"process"}
            assert {span.kind for span in recorded.spans()} == expected
            assert recorded.process.torn_lines == 0


def test_a_log_without_markers_makes_no_run(tmp_path: Path) -> None:
    log = written(tmp_path, "nothing to see\n")
    with pytest.raises(BadInputError, match="no native timing markers"):
        CliRunner().invoke(ingest, [str(tmp_path / "made"), str(log)], catch_exceptions=False)
    assert not (tmp_path / "made").exists()


def test_what_an_interrupted_ingest_left_undone_is_done_by_the_next(tmp_path: Path) -> None:
    ingested(tmp_path / "made", LOGS / "l2.log")
    (recorded,) = (tmp_path / "made").glob("*.jsonl")
    text = recorded.read_text()
    recorded.unlink()
    ingested(tmp_path / "made", LOGS / "l2.log")
    assert recorded.read_text() == text


def test_a_log_that_is_a_directory_is_bad_input(tmp_path: Path) -> None:
    result = CliRunner().invoke(ingest, [str(tmp_path / "made"), str(tmp_path)])
    assert result.exit_code == 2
    assert "is a directory" in result.output


def test_a_directory_that_is_no_run_is_not_made_one(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="is not a run"):
        CliRunner().invoke(ingest, [str(tmp_path), str(LOGS / "l2.log")], catch_exceptions=False)


def test_a_log_with_only_the_autoload_line_has_a_verdict_and_no_timings(tmp_path: Path) -> None:
    run = made_of(written(tmp_path, f"[TIMING] {AUTOLOAD} torch_npu_loaded=false\n"), tmp_path)
    (process,) = run.processes
    assert contamination.verdict(run).word == "CLEAN"
    assert process.record.conditions["torch.backend_autoload.effective"] == "disabled"
    assert process.record.ended == "not recorded"
    assert list(process.cases) == []


def test_a_log_that_tells_nothing_is_one_sentence(tmp_path: Path) -> None:
    log = written(tmp_path, "nothing of ours\n")
    result = CliRunner().invoke(ingest, [str(tmp_path / "store" / "made"), str(log)])
    assert isinstance(result.exception, BadInputError)
    assert "no native timing markers and no line on torch's autoload" in str(result.exception)
