"""`scenetest-otel compare`, called as users call it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.arms import write_run
from support.journals import CONTAMINATED, Case, Dispatch, Process, write
from support.scripts import clean_environment

MS = 1_000_000
WARM = [101 * MS, 100 * MS, 103 * MS]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four pairs in turns, the measure 10 % slower; two more runs of the base; one run of another ruler."""
    path = tmp_path_factory.mktemp("store")
    for place, turn in enumerate("BMMBBMMBBB"):
        name = f"{'base' if turn == 'B' else 'meas'}-{place}"
        times = [time + place % 3 * MS + (10 * MS if turn == "M" else 0) for time in WARM]
        write_run(path, name, place, [300 * MS, *times])
    write_run(path, "dirty-1", 20, [300 * MS, *WARM], CONTAMINATED)
    return path


def compare(store: Path, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "opentelemetry.instrumentation.scenetest", "compare", *arguments],
        env=clean_environment(SCENETEST_OTEL_DIR=str(store)),
        cwd=cwd or store,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_ruler_and_the_verdict_come_first(store: Path) -> None:
    done = compare(store, "base-[0-7]", "--", "meas-*")
    ruler, verdict, *rest = done.stdout.splitlines()
    assert ruler == 'SAME RULER  8 processes: autoload disabled ("0"), stderr file'
    assert verdict.startswith("TestVector::default  host_build_graph  L2  dispatch  -> slower: +")
    assert "    base, ms      100.0    100.0    101.0    101.0" in rest
    assert "    measure       111.0    112.0    112.0    110.0" in rest
    assert "    delta         +11.0    +12.0    +11.0     +9.0" in rest
    assert (done.returncode, done.stderr) == (0, "")


def test_another_ruler_gives_only_what_differs_why_and_exit_code_4(store: Path) -> None:
    done = compare(store, "base-0", "base-3", "--", "dirty-1")
    assert done.stdout.splitlines() == [
        "NOT THE SAME RULER",
        "                                    base-0, base-3  dirty-1",
        '  torch.backend_autoload.effective  disabled ("0")  enabled (unset)',
        "  torch_npu.loaded                  no              yes (autoload)",
        "    a backend that `import torch` loads takes the device, its memory and threads before anything is measured",
        "No number. (exit 4)",
    ]
    assert done.returncode == 4


def test_an_accepted_difference_is_stamped_on_every_form_of_output(store: Path) -> None:
    allowed = ("--allow", "torch_npu.loaded", "--allow", "torch.backend_autoload.effective")
    arms = ("base-0", "--", "dirty-1", *allowed)
    stamp = "ALLOWED TO DIFFER  torch_npu.loaded: base-0 no, dirty-1 yes (autoload)"
    assert stamp in compare(store, *arms).stdout
    assert stamp in compare(store, *arms, "--markdown").stdout
    document = json.loads(compare(store, *arms, "--json").stdout)
    assert document["ruler"]["allowed"]["torch_npu.loaded"] == {"base-0": [False], "dirty-1": [True]}


def test_json_has_the_numbers_and_the_verdict(store: Path) -> None:
    document = json.loads(compare(store, "base-[0-7]", "--", "meas-*", "--json").stdout)
    assert document["verdict"] == ["slower"]
    (row,) = document["cases"][0]["rows"]
    assert [(pair["base_ns"], pair["measure_ns"]) for pair in row["pairs"]] == [
        (100 * MS, 111 * MS),
        (100 * MS, 112 * MS),
        (101 * MS, 112 * MS),
        (101 * MS, 110 * MS),
    ]
    assert row["minimum"]["delta"] == pytest.approx(0.107, abs=0.001)
    assert row["rounds"] == {"cold": 1, "warm": 3, "still_falling": False, "failed": 0, "lacking_a_span": 0}


@pytest.mark.parametrize(
    ("arms", "code"),
    [
        (("base-[0-7]", "--", "meas-*", "--fail-slower", "5"), 5),
        (("base-[0-7]", "--", "meas-*", "--fail-slower", "15"), 0),
        (("meas-*", "--", "base-[0-7]", "--fail-slower", "5"), 0),
        (("base-0", "--", "meas-1", "--fail-slower", "5"), 7),
        (("base-0", "--", "meas-1"), 0),
    ],
)
def test_exit_codes(store: Path, arms: tuple[str, ...], code: int) -> None:
    assert compare(store, *arms).returncode == code


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("base-*",), "there is one arm; put -- between two, as in: compare 'base-*' -- 'measure-*'"),
        (("base-*", "--"), "an arm is empty; name its runs, as in: compare 'base-*' -- 'measure-*'"),
        (("base-0", "--", "base-*"), "base-0 is in both arms; a run can be compared with others only"),
        (("base-0", "--", "meas-1", "--sum", "x"), "--sum x: not measured in both arms; these are: dispatch"),
        (
            ("base-0", "--", "meas-1", "--control", "dispatch"),
            "--control dispatch: this is what is tested; name another",
        ),
        (("base-0", "--", "meas-1", "--allow", "stderr"), "--allow stderr: this is no condition of the ruler"),
    ],
)
def test_bad_input_is_one_sentence(store: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = compare(store, *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"scenetest-otel: {sentence}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--margin", "--resolution", "--fail-slower"])
@pytest.mark.parametrize("number", ["nan", "inf", "-1"])
def test_a_limit_that_nothing_reaches_or_that_makes_no_sense_is_bad_input(
    store: Path, option: str, number: str
) -> None:
    done = compare(store, "base-0", "--", "meas-1", option, number)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"scenetest-otel compare: Invalid value for '{option}': {number}")


def test_defaults_come_from_the_project_and_the_command_line_wins(store: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.scenetest-otel]\nfail-slower = 5\ncold = 2\n")
    below = tmp_path / "below"
    below.mkdir()
    arms = ("base-[0-7]", "--", "meas-*")
    assert compare(store, *arms, cwd=below).returncode == 5
    assert compare(store, *arms, "--fail-slower", "15", cwd=below).returncode == 0
    assert json.loads(compare(store, *arms, "--json", cwd=below).stdout)["options"]["cold"] == 2


def test_a_default_that_is_none_is_bad_input(store: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.scenetest-otel]\nmargn = 3\n")
    done = compare(store, "base-0", "--", "meas-1", cwd=tmp_path)
    assert done.returncode == 2
    assert "[tool.scenetest-otel] has no margn; it can set allow, cold, control" in done.stderr


def test_showing_a_run_does_not_wait_for_numpy() -> None:
    script = (
        "import sys; from opentelemetry.instrumentation.scenetest.cli import run, show; print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_group_of_conditions_is_accepted_by_one_name(store: Path) -> None:
    document = json.loads(compare(store, "base-0", "--", "dirty-1", "--allow", "autoload", "--json").stdout)
    assert set(document["ruler"]["allowed"]) == {"torch.backend_autoload.effective", "torch_npu.loaded"}
    mistyped = compare(store, "base-0", "--", "dirty-1", "--allow", "autolaod")
    assert "no group of them; do you mean autoload?" in mistyped.stderr
    assert mistyped.returncode == 2


def test_fail_slower_warns_where_the_pairs_can_not_find_it(store: Path) -> None:
    arms = ("base-[0-7]", "--", "meas-*")
    warned = compare(store, *arms, "--fail-slower", "0.5")
    assert "--fail-slower 0.5: TestVector::default" in warned.stderr
    assert "4 pairs find a shift of 2" in warned.stderr
    assert compare(store, *arms, "--fail-slower", "8").stderr == ""


def test_too_few_pairs_are_said_once_for_all_rows(tmp_path: Path) -> None:
    inner = [Dispatch(20 * MS, attributes={"scenetest.name": name}) for name in ("load", "add", "store")]
    for place, name in enumerate(("base", "meas")):
        rounds = [Dispatch(100 * MS, inner=inner) for _ in range(3)]
        write(tmp_path, name, [Process([Case("Suite", "case", rounds)], pid=1000 + place)], at=place * 10.0)
    said = compare(tmp_path, "base", "--", "meas").stdout
    assert all(f"  dispatch.{name}: 1 pair" in said for name in ("load", "add", "store"))
    assert said.count("can't tell a change from noise") == 2  # the answer at the top, and below its numbers
