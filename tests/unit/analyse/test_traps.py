"""A catalogue of traps: pairs of recorded arms that differ in one thing, or in nothing, and the only right answer.

Each trap once gave a confident wrong answer, or would give one to a comparison that looks at numbers alone. At the end
it is printed how many are answered rightly.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.journals import Process, write
from support.traps import ALL, TRAPS, Trap, arm, case, inner, pressed, rounds, said, single, store_of, verdict

from opentelemetry.instrumentation.scenetest.analyse.compare.comparison import Comparison, describe
from opentelemetry.instrumentation.scenetest.analyse.compare.options import Options
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm
from opentelemetry.instrumentation.scenetest.cli.compare import exit_code
from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.exits import Exit
from opentelemetry.instrumentation.scenetest.render import wording
from opentelemetry.instrumentation.scenetest.render.comparison_document import document
from opentelemetry.instrumentation.scenetest.sources.arms import read_arms


def left_out(comparison: Comparison) -> str:
    return "\n".join(one.text for one in document(comparison).left_out)


@pytest.mark.parametrize("trap", ALL, ids=lambda trap: trap.name)
def test_the_answer_is_the_right_one(trap: Trap, tmp_path: Path) -> None:
    store_of(tmp_path, trap.base, trap.measure, exit_code=trap.exit_code, order=trap.order)
    comparison = verdict(tmp_path, allow=trap.allow)
    assert said(comparison) == trap.answer
    assert trap.left_out in left_out(comparison)


@pytest.fixture
def turns(tmp_path: Path) -> Path:
    """A store of four pairs, the measure a tenth slower."""
    store_of(tmp_path, arm(), arm(1.1))
    return tmp_path


def test_overlapping_globs_count_a_run_once(turns: Path) -> None:
    comparison = verdict(turns, "base-* base-1 base-[12]")
    assert said(comparison) == "slower"
    assert comparison.named[0].evidence.order.pairs == 4


def test_a_run_in_both_arms_is_bad_input(turns: Path) -> None:
    with pytest.raises(BadInputError, match="meas-1 is in both arms"):
        verdict(turns, "*", "meas-1")


def test_a_copy_in_the_other_arm_is_bad_input(turns: Path) -> None:
    shutil.copytree(turns / "base-1", turns / "meas-9")
    with pytest.raises(BadInputError, match="meas-9 is in both arms"):
        verdict(turns)


def test_a_copy_in_the_same_arm_is_no_repetition(turns: Path) -> None:
    for number in (5, 6, 7):
        shutil.copytree(turns / "base-1", turns / f"base-{number}")
    comparison = verdict(turns)
    assert comparison.named[0].evidence.order.pairs == 4
    assert "base-7: Suite::default  host_build_graph  L2: it is a copy of base-1" in left_out(comparison)


def test_a_copy_with_a_shifted_clock_is_found(turns: Path) -> None:
    shutil.copytree(turns / "base-1", turns / "meas-9")
    (journal,) = (turns / "meas-9").glob("*.jsonl")
    journal.write_text(journal.read_text().replace('"unix_ns":17', '"unix_ns":16', 1))
    with pytest.raises(BadInputError, match="is in both arms"):
        verdict(turns)


def test_renamed_directories_change_nothing(turns: Path) -> None:
    for path in list(turns.iterdir()):
        path.rename(turns / f"x-{path.name}")
    assert said(verdict(turns, "x-base-*", "x-meas-*")) == "slower"


def test_a_moved_store_changes_nothing(turns: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    moved = shutil.copytree(turns, tmp_path_factory.mktemp("moved") / "store")
    assert said(verdict(moved)) == said(verdict(turns)) == "slower"


def test_a_wall_clock_that_was_set_back_between_runs_does_not_change_their_order(tmp_path: Path) -> None:
    for place, turn in enumerate("BMMBBMMB"):
        k = place // 2
        shift = -3600 * 10**9 if place >= 4 else 0
        process = Process([case(k, 1.1 if turn == "M" else 1.0)], pid=1000 + place, clock_ns=shift)
        write(tmp_path, f"{'base' if turn == 'B' else 'meas'}-{place}", [process], at=100 + place * 20)
    comparison = verdict(tmp_path)
    assert "".join(one.value[0] for one in comparison.named[0].evidence.order.arms) == "bmmbbmmb"
    assert said(comparison) == "slower"


def test_a_wall_clock_that_was_set_back_hides_no_overlap(tmp_path: Path) -> None:
    for place, turn in enumerate("BMMBBMMB"):
        shift = -3600 * 10**9 if turn == "M" else 0
        process = Process([case(place // 2)], pid=1000 + place, clock_ns=shift)
        write(tmp_path, f"{'base' if turn == 'B' else 'meas'}-{place}", [process], at=100 + place // 2 * 20)
    assert said(verdict(tmp_path)) == "contended"


def test_another_run_of_the_store_at_the_same_time_is_seen(turns: Path) -> None:
    write(turns, "other", [Process(outside=rounds(0, n=3), pid=7)], at=140)
    assert said(verdict(turns)) == "not the same ruler: concurrency"


def test_a_run_left_out_that_ran_at_the_same_time_is_seen(turns: Path) -> None:
    write(turns, "meas-9", [Process([case(0)], pid=7)], at=140, exit_code=1)
    assert said(verdict(turns)) == "not the same ruler: concurrency"


def test_a_surplus_run_that_ran_at_the_same_time_is_seen(turns: Path) -> None:
    write(turns, "base-9", [Process([case(0)], pid=7)], at=240.1)
    assert said(verdict(turns)) == "not the same ruler: concurrency"


def test_a_run_on_another_machine_at_the_same_time_disturbs_nothing(turns: Path) -> None:
    write(turns, "other", [Process(outside=rounds(0, n=3), pid=7, boot="boot-2")], at=140)
    assert said(verdict(turns)) == "slower"


def test_a_run_at_another_time_disturbs_nothing(turns: Path) -> None:
    write(turns, "other", [Process(outside=rounds(0, n=3), pid=7)], at=130)
    assert said(verdict(turns)) == "slower"


def test_runs_side_by_side_are_no_same_ruler_for_want_of_warm_rounds(tmp_path: Path) -> None:
    for k, autoload in enumerate(("disabled", "enabled", "disabled")):
        write(tmp_path, f"run-{k}", single(k, autoload), at=100 + 20 * k)
    (runs,) = read_arms([["run-*"]], str(tmp_path), None)
    comparison = describe(runs, Options())
    assert not comparison.gate.same
    assert exit_code(comparison, None)[0] is Exit.NOT_THE_SAME_RULER


def test_nothing_compared_is_exit_code_7_and_other_conditions_are_4(tmp_path: Path) -> None:
    store_of(tmp_path / "same", single, single)
    assert exit_code(verdict(tmp_path / "same"), None)[0] is Exit.NO_VERDICT
    store_of(tmp_path / "differ", single, lambda k: single(k, "enabled"))
    assert exit_code(verdict(tmp_path / "differ"), None)[0] is Exit.NOT_THE_SAME_RULER
    store_of(tmp_path / "none", arm(), arm(name="other"))
    assert exit_code(verdict(tmp_path / "none"), None)[0] is Exit.NO_VERDICT


def test_a_kernel_inside_a_step_is_a_row_of_its_own(tmp_path: Path) -> None:
    store_of(tmp_path, lambda k: inner(k, 1), lambda k: inner(k, 3))
    rows = {row.name: row for row in verdict(tmp_path).cases[0].rows}
    assert {name: row.reason.verdict.value for name, row in rows.items()} == {
        "dispatch": "slower",
        "dispatch.inner": "same",
    }
    assert rows["dispatch"].warm.rounds.shape == (8, 6)


def test_thirty_rounds_against_five_give_the_true_reason_with_both_numbers(tmp_path: Path) -> None:
    trap = next(trap for trap in TRAPS if trap.name == "thirty rounds against five")
    store_of(tmp_path, trap.base, trap.measure)
    (row,) = verdict(tmp_path).named
    assert wording.verdict(row, Options()) == (
        "unresolved: no pair is left without meas-1 (5 rounds), meas-2 (5 rounds), meas-3 (5 rounds), "
        "meas-4 (5 rounds), under half the median number of rounds (17.5)"
    )


def test_pressure_that_was_recorded_stands_beside_the_verdict(tmp_path: Path) -> None:
    store_of(tmp_path, lambda k: pressed(k, 0.5), lambda k: pressed(k, 0.55, 1.2))
    (only,) = verdict(tmp_path).cases
    assert wording.pressure(only) == "CPU pressure: base 50 %, measure 55 %"


def test_native_timings_of_one_arm_alone_are_named_and_the_dispatches_compared(tmp_path: Path) -> None:
    store_of(tmp_path, arm(), arm())
    for k in range(1, 5):
        (journal,) = (tmp_path / f"base-{k}").glob("*.jsonl")
        start = [line for line in journal.read_text().splitlines() if '"close"' in line][1].split('"start":')[1]
        at = int(start.split(",")[0]) + 1000
        pid = 1000 + k - 1
        lead = f"[mono_ns={at}][T0x1][TIMING] emit_host_span: [STRACE] v=1 pid={pid} tid=1 inv=1 hid=0 depth=0"
        (tmp_path / f"base-{k}" / "stderr.log").write_text(f"{lead} name=chip.run ts={at} dur=5000\n")
    comparison = verdict(tmp_path)
    assert said(comparison) == "same"
    assert comparison.cases[0].alone[Arm.BASE] == ("Host", "chip.run")
    assert "only base measured Host, chip.run" in left_out(comparison)


def test_a_directory_that_can_not_be_read_beside_the_runs_is_no_fault(turns: Path) -> None:
    (turns / "half").mkdir()
    (turns / "half" / "run.json").write_text("{}")
    os.utime(turns / "half" / "run.json", (0, 0))
    assert said(verdict(turns)) == "slower"


def test_the_other_arm_running_another_case_at_that_moment_is_seen(tmp_path: Path) -> None:
    """Each arm runs two cases, in another order, at the same time as the other arm."""
    for k in range(4):
        first, second = case(k, name="first"), case(k, name="second")
        write(tmp_path, f"base-{k}", [Process([first, second], pid=1000 + k)], at=100 + 20 * k)
        write(tmp_path, f"meas-{k}", [Process([second, first], pid=2000 + k)], at=100 + 20 * k)
    assert said(verdict(tmp_path)) == "contended, contended"


def test_what_is_measured_anew_in_every_run_is_no_difference_in_context() -> None:
    floats = {key for key, condition in CONDITIONS.items() if condition.use == "context" and condition.type is float}
    assert floats <= {key for key, condition in CONDITIONS.items() if condition.measured}


def test_runs_that_are_only_shown_warn_of_those_that_failed(tmp_path: Path) -> None:
    write(tmp_path, "run-1", [Process([case(0)], pid=1)], at=100, exit_code=3)
    (runs,) = read_arms([["run-*"]], str(tmp_path), None)
    shown = describe(runs, Options())
    assert shown.warnings == ("run-1: Suite::default  host_build_graph  L2: its run ended with exit code 3",)
    assert [each.use for one in shown.cases[0].series[Arm.BASE] for each in one.rounds] == ["cold", *["used"] * 3]
