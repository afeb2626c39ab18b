"""`scenetest-otel ab --find`, `--resume`, `--autoload` and arms of git revisions: real runs of a real command."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from support.harness import HARNESS
from support.scripts import PROGRAMS, clean_environment, program

from opentelemetry.instrumentation.scenetest.runner.environments import PACKAGE
from opentelemetry.instrumentation.scenetest.sources import stores

AB = [sys.executable, "-m", "opentelemetry.instrumentation.scenetest", "ab"]
SLEEPS = tuple(program("sleeps.py"))


def ab(
    cwd: Path, *arguments: str, command: tuple[str, ...] = SLEEPS, name: str = "x", **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*AB, "--dir", str(cwd / "store"), "--name", name, *arguments, "--", *command],
        env=clean_environment(**env),
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )


def recorded(cwd: Path) -> list[str]:
    return [directory.name for directory in stores.all_runs(str(cwd / "store"))]


def test_find_stops_as_soon_as_a_large_change_is_clear(tmp_path: Path) -> None:
    done = ab(tmp_path, "--find", "20", "--arm", "measure:FACTOR=8", "--fail-slower", "20", "--json")
    assert done.returncode == 5, done.stderr
    pairs = sum("base-" in name for name in recorded(tmp_path))
    assert 4 <= pairs <= 6
    assert re.search(r"scatter [\d.]+ %: \d+ pairs find 20 %.*; so far \+[\d.]+ % \(95 %: ", done.stderr)
    assert json.loads(done.stdout)["verdict"] == ["slower"]


def test_find_takes_its_shift_as_the_margin_within_which_equal_arms_are_the_same(tmp_path: Path) -> None:
    done = ab(tmp_path, "--find", "80", "--max-pairs", "8", "--no-warm-up", "--json", "--arm", "base=.")
    document = json.loads(done.stdout)
    assert document["options"]["margin"] == 0.8
    ((row,),) = (case["rows"] for case in document["cases"])
    # One in twenty experiments with equal arms finds a shift, of the size of the noise.
    assert row["verdict"] == "same" or abs(row["minimum"]["delta"]) < 0.2, done.stdout + done.stderr
    assert "4 pairs: enough to find 80 %" in done.stderr
    assert len(recorded(tmp_path)) == 8


def test_a_spent_budget_ends_with_what_could_not_be_told(tmp_path: Path) -> None:
    done = ab(tmp_path, "--find", "0.01", "--budget", "0.01s", "--no-warm-up", "--arm", "base=.")
    assert len(recorded(tmp_path)) == 2
    assert "the budget allows no more than 1 pair" in done.stderr
    assert "1 pair can't tell a change from noise; run 3 more" in done.stdout
    assert done.returncode == 0


def test_the_limit_of_pairs_is_said_with_what_they_find(tmp_path: Path) -> None:
    done = ab(tmp_path, "--find", "0.001", "--max-pairs", "4", "--no-warm-up", "--arm", "base=.")
    assert len(recorded(tmp_path)) == 8
    assert "the limits allow 4, which find " in done.stderr
    assert "4 pairs: that is the limit of --max-pairs" in done.stderr


def test_each_arm_runs_once_before_and_that_does_not_count(tmp_path: Path) -> None:
    done = ab(tmp_path, "-n", "1", "--arm", "base=.")
    assert recorded(tmp_path) == ["x-warm-up-base", "x-warm-up-measure", "x-base-1", "x-measure-1"]
    assert done.stderr.count("warm-up, not counted") == 2
    assert "dispatch: 1 pair, order BM" in done.stdout


def test_rulers_that_differ_stop_it_after_the_warm_up(tmp_path: Path) -> None:
    pinned = ("sh", "-c", f"exec taskset -c ${{CPUS:-0-1}} {sys.executable} {PROGRAMS / 'sleeps.py'}")
    done = ab(tmp_path, "--arm", "measure:CPUS=0", command=pinned)
    assert recorded(tmp_path) == ["x-warm-up-base", "x-warm-up-measure"]
    assert done.stdout.startswith("NOT THE SAME RULER\n")
    assert done.returncode == 4


def test_an_arm_that_fails_stops_it_in_the_warm_up(tmp_path: Path) -> None:
    done = ab(tmp_path, "--arm", "measure:CODE=3")
    assert "the measure failed in its warm-up run with exit code 3" in done.stderr
    assert done.returncode == 2


def test_resume_goes_on_with_the_runs_that_are_there(tmp_path: Path) -> None:
    first = ab(tmp_path, "-n", "2", "--no-warm-up", "--arm", "base=.")
    assert first.returncode == 0, first.stderr
    broken = tmp_path / "store" / "x-measure-2" / "run.json"
    # As a machine that lost its power leaves it.
    broken.write_text(json.dumps({**json.loads(broken.read_text()), "exit_code": None, "ended_unix_ns": None}))
    again = ab(tmp_path, "-n", "3", "--no-warm-up", "--arm", "base=.")
    assert "x-base-1 already exists; choose another --name, or continue it with --resume" in again.stderr
    resumed = ab(tmp_path, "-n", "3", "--no-warm-up", "--resume", "--arm", "base=.")
    assert sorted({*recorded(tmp_path)}) == [
        "x-base-1",
        "x-base-2",
        "x-base-3",
        "x-measure-1",
        "x-measure-2",
        "x-measure-2-again-1",
        "x-measure-3",
    ]
    assert "dispatch: 3 pairs" in resumed.stdout, resumed.stderr
    assert "x-measure-2-again-1" in resumed.stderr
    other = ab(tmp_path, "-n", "4", "--no-warm-up", "--resume", "--arm", "base=.", command=(*SLEEPS, "more"))
    assert "ran another command: --resume continues only with the same command and arms" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--find", "5", "-n", "4"), "-n fixes the number of pairs, and --find chooses it"),
        (("--max-pairs", "9"), "--max-pairs limits --find"),
        (("--find", "0"), "is not in the range"),
        (("--budget", "30"), "'30' is not a time; write it like 90s, 30m or 1h30m"),
        (("--setup", "true"), "--setup is for worktrees, and no arm is a git revision"),
        (("--keep",), "--keep is for worktrees, and no arm is a git revision"),
        (("--autoload", "--arm", "base:TORCH_DEVICE_BACKEND_AUTOLOAD=1"), "--autoload sets"),
    ],
)
def test_options_that_contradict_each_other_are_bad_input(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    done = ab(tmp_path, "--arm", "base=.", *arguments)
    assert sentence in done.stderr
    assert done.returncode == 2
    assert not (tmp_path / "store").exists()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A git checkout with a benchmark in a subdirectory, twice as slow in the working tree as in its first commit."""
    path = tmp_path / "checkout"
    bench = path / "bench"
    bench.mkdir(parents=True)
    source = (PROGRAMS / "sleeps.py").read_text()
    (bench / "sleeps.py").write_text(source)

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        subprocess.run(["git", *who, *arguments], cwd=path, check=True, capture_output=True)

    git("init", "--quiet", "-b", "main")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    (bench / "sleeps.py").write_text(source.replace("0.002", "0.02"))
    return path


def worktrees(checkout: Path) -> list[str]:
    listed = subprocess.run(["git", "worktree", "list"], cwd=checkout, check=True, capture_output=True, text=True)
    return listed.stdout.splitlines()


def test_an_arm_may_be_a_revision_beside_the_working_tree_as_it_is(checkout: Path) -> None:
    bench = checkout / "bench"
    arms = ("--arm", "base=main", "--arm", "measure=.", "--setup", "touch prepared && echo $PWD")
    done = ab(bench, *arms, "-n", "2", "--json", command=(sys.executable, "sleeps.py"))
    assert done.returncode == 0, done.stderr + done.stdout
    ((row,),) = (case["rows"] for case in json.loads(done.stdout)["cases"])
    assert row["minimum"]["delta"] > 3
    where = {arm: (bench / "store" / f"x-{arm}-1" / "stdout.log").read_text().strip() for arm in ("base", "measure")}
    assert where["measure"] == str(bench)
    assert where["base"].endswith("/bench")
    assert not where["base"].startswith(str(checkout))
    assert not (bench / "prepared").exists()
    assert not Path(where["base"]).exists()
    assert len(worktrees(checkout)) == 1


@pytest.mark.parametrize("warm_up", [(), ("--no-warm-up",)])
def test_an_arm_that_runs_the_harness_of_the_other_one_is_not_measured(
    checkout: Path, warm_up: tuple[str, ...]
) -> None:
    shutil.copytree(HARNESS, checkout / "harness")
    subprocess.run(["git", "add", "."], cwd=checkout, check=True)
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    subprocess.run(["git", *who, "commit", "--quiet", "-m", "harness"], cwd=checkout, check=True)
    command = (sys.executable, str(checkout / "harness" / "scenes" / "driver.py"))
    path = str(checkout / "harness")
    done = ab(checkout, "--arm", "base=main", "-n", "1", *warm_up, command=command, PYTHONPATH=path)
    assert f"ran the harness in {checkout}, which is that of the measure" in done.stderr, done.stderr
    assert "name it by a relative one, or install it into the .venv of each arm" in done.stderr
    assert done.returncode == 2
    done = ab(
        checkout,
        "--arm",
        "base=main",
        "-n",
        "1",
        *warm_up,
        name="own",
        command=(*command[:1], "harness/scenes/driver.py"),
        PYTHONPATH="harness",
    )
    assert done.returncode == 0, done.stderr


def test_a_preparation_that_fails_is_shown_and_leaves_nothing(checkout: Path) -> None:
    done = ab(checkout / "bench", "--arm", "base=main", "--setup", "echo no compiler; exit 9")
    assert "  no compiler" in done.stderr
    assert "--setup failed for the base with exit code 9" in done.stderr
    assert done.returncode == 2
    assert len(worktrees(checkout)) == 1


def test_worktrees_are_kept_on_demand(checkout: Path, tmp_path: Path) -> None:
    done = ab(checkout / "bench", "-n", "1", "--arm", "base=main", "--keep", "--no-warm-up", TMPDIR=str(tmp_path))
    (kept,) = tmp_path.glob("scenetest-ab-*/base-*")
    assert f"kept the worktree {kept}" in done.stderr
    assert (kept / "bench" / "sleeps.py").is_file()
    assert len(worktrees(checkout)) == 2


def test_a_venv_that_lacks_this_package_is_found_before_the_first_run(tmp_path: Path) -> None:
    venv.create(tmp_path / "arm" / ".venv", symlinks=True)
    done = ab(tmp_path, "--arm", f"base={tmp_path}/arm", command=("python", str(PROGRAMS / "sleeps.py")))
    python = tmp_path / "arm" / ".venv" / "bin" / "python"
    assert f"the base can't be recorded: {python.parent.parent} lacks {PACKAGE}; to fix that: " in done.stderr
    assert f"uv pip install --python {python} " in done.stderr
    assert done.returncode == 2
    assert not (tmp_path / "store").exists()


def test_a_venv_with_another_version_of_this_package_is_found_too(tmp_path: Path) -> None:
    venv.create(tmp_path / "arm" / ".venv", symlinks=True)
    (site,) = (tmp_path / "arm" / ".venv" / "lib").glob("python*/site-packages")
    metadata = site / f"{PACKAGE.replace('-', '_')}-0.0.7.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 0.0.7\n")
    done = ab(tmp_path, "--arm", f"base={tmp_path}/arm", command=("python", str(PROGRAMS / "sleeps.py")))
    assert "has version 0.0.7 of " in done.stderr
    assert done.returncode == 2


def test_a_command_of_another_environment_is_not_asked(tmp_path: Path) -> None:
    venv.create(tmp_path / "arm" / ".venv", symlinks=True)
    done = ab(tmp_path, "-n", "1", "--no-warm-up", "--arm", f"base={tmp_path}/arm")
    assert done.returncode == 0, done.stderr


def test_cases_that_only_one_arm_has_are_listed(tmp_path: Path) -> None:
    done = ab(tmp_path, "-n", "1", "--no-warm-up", "--arm", "measure:ONLY=new")
    assert "only in measure: Sleep::new" in done.stdout, done.stderr


def test_autoload_is_one_word_and_says_what_it_costs(tmp_path: Path) -> None:
    backend = Path(sys.prefix) / "demo-device"
    done = ab(
        tmp_path, "--autoload", "-n", "1", command=tuple(program("multiplies_matrices.py")), PYTHONPATH=str(backend)
    )
    assert done.returncode == 0, done.stderr
    headline, ruler, *_ = done.stdout.splitlines()
    assert headline.startswith("autoload costs: not told on the dispatch, "), done.stdout
    assert re.search(r", \+[\d.e-]+ s on import torch \(median of 1 process\)$", headline)
    assert ruler.startswith("NOT THE SAME RULER, AS ALLOWED")
    assert "ALLOWED TO DIFFER  torch.backend_autoload.effective" in done.stdout


def test_autoload_without_a_backend_says_so(tmp_path: Path) -> None:
    done = ab(
        tmp_path, "--autoload", "-n", "1", "--no-warm-up", "--json", command=tuple(program("multiplies_matrices.py"))
    )
    assert done.returncode == 0, done.stderr
    assert "no backend is installed that it could load" in done.stderr
    assert json.loads(done.stdout)["ruler"]["comparable"] is True
