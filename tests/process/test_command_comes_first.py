"""`run` doesn't change how its command ends: same exit code, same signal, and no process is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.runner import CLI, Console, eventually, facts, recording, run
from support.scripts import clean_environment, folders, only_process, only_run, program

ENDS_WITH_7 = recording("with case('S', 'c'), dispatch(): pass\nprint('x' * 100, flush=True)\nexit(7)")
FIRST_MOMENTS = [0.005 * step for step in range(30)]


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", "-c", line, "bash", *ENDS_WITH_7],
        env=clean_environment(),
        cwd=folder,
        capture_output=True,
        timeout=60,
        check=False,
    )


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def pids(folder: Path) -> list[int]:
    return [int(word) for word in (folder / "pids").read_text().split()]


@pytest.mark.parametrize("tty", ["", "--tty"])
@pytest.mark.parametrize(
    "streams", ["2>/dev/full", ">/dev/full", ">/dev/full 2>&1", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"]
)
def test_the_exit_code_stays_when_nothing_can_be_printed(streams: str, tty: str, tmp_path: Path) -> None:
    assert shell(f'exec {CLI} run --dir store {tty} -- "$@" {streams}', tmp_path).returncode == 7
    assert facts(tmp_path / "store")["exit_code"] == 7


@pytest.mark.parametrize("streams", ["2>/dev/full", ">/dev/full 2>&1"])
def test_a_death_by_signal_stays_when_nothing_can_be_printed(streams: str, tmp_path: Path) -> None:
    done = shell(f"exec {CLI} run --dir store -- sh -c 'echo x; kill -TERM $$' {streams}", tmp_path)
    assert done.returncode == -signal.SIGTERM


@pytest.mark.parametrize("descriptors", [8, 9, 10, 12, 16])
def test_the_exit_code_stays_where_descriptors_are_few(descriptors: int, tmp_path: Path) -> None:
    done = shell(f'ulimit -n {descriptors}; exec {CLI} run --dir store -- "$@"', tmp_path)
    assert (done.returncode, done.stdout) == (7, b"x" * 100 + b"\n"), done.stderr
    assert len(only_process(only_run(tmp_path / "store")).cases) == 1


@pytest.mark.parametrize("options", [[], ["--tty"]])
def test_a_terminal_that_closes_ends_all_of_the_command(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    console = Console([CLI, "run", "--dir", "store", *options, "--", *program("sleeps_with_a_child.py")])
    console.wait_for(b"ready")
    everybody = [console.pid, *pids(tmp_path)]
    console.hang_up()
    os.waitpid(console.pid, 0)
    eventually(lambda: all(map(is_gone, everybody)))
    assert facts(tmp_path / "store")["signal"] == signal.SIGHUP


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_ab_leaves_nothing_of_its_command_behind(number: int, tmp_path: Path) -> None:
    command = [CLI, "ab", "--dir", "store", "--arm", "base=.", "--", *program("sleeps_with_a_child.py")]
    with subprocess.Popen(command, env=clean_environment(), cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        eventually((tmp_path / "pids").exists)
        eventually(lambda: len((tmp_path / "pids").read_text().split()) == 2)
        process.send_signal(number)
        process.wait(60)
    command_itself, below = pids(tmp_path)
    assert is_gone(command_itself)
    eventually(lambda: is_gone(below))


@pytest.mark.parametrize("what", ["run", "ab"])
def test_an_interrupt_in_the_first_moments_leaves_no_traceback_and_nothing_behind(what: str, tmp_path: Path) -> None:
    # Until it comes to us, Python prints its own traceback.
    arms = ["--arm", "base=.", "-n", "1"] if what == "ab" else []
    command = [CLI, what, "--dir", "store", *arms, "--", "sleep", "600"]
    survived = 0
    for number, moment in enumerate(FIRST_MOMENTS):
        folder = tmp_path / str(number)
        folder.mkdir()
        env, pipe, null = clean_environment(), subprocess.PIPE, subprocess.DEVNULL
        process = subprocess.Popen(command, env=env, cwd=folder, stderr=pipe, stdout=null)
        wait_until_ours(process.pid)
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert b"Traceback" not in errors, errors
        for run_file in folder.glob("store/*/run.json"):
            assert run_file.stat().st_size > 0
        survived += 1
    print(f"{what}: {len(FIRST_MOMENTS)} interrupts tried, {survived} survived")


def wait_until_ours(pid: int) -> None:
    """Wait until Python has set its handler of interrupts, and we have set it back."""
    for expected in (True, False):
        while catches_interrupts(pid) != expected:
            time.sleep(0.0005)


def catches_interrupts(pid: int) -> bool:
    caught = Path(f"/proc/{pid}/status").read_text().partition("SigCgt:")[2].split()[0]
    return bool(int(caught, 16) & 1 << (signal.SIGINT - 1))


def test_a_run_that_can_not_be_made_leaves_no_directory(tmp_path: Path) -> None:
    store = tmp_path / "store"
    done = shell(f'ulimit -f 0; exec {CLI} run --dir {store} -- "$@"', tmp_path)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert folders(store) == []


def test_a_command_that_is_not_found_leaves_no_directory(tmp_path: Path) -> None:
    run(tmp_path, [str(tmp_path / "nothing")], expect=127)
    assert not list(tmp_path.iterdir())


def test_an_interrupt_after_the_command_has_ended_leaves_its_exit_code(tmp_path: Path) -> None:
    env = clean_environment(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", SCENETEST_OTEL_EXIT_WAIT="30")
    command = [CLI, "run", "--dir", str(tmp_path), "--", *ENDS_WITH_7]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        while b"S::c" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 7
