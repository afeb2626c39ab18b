"""`scenetest-otel run` and signals: which ones the command gets, and what remains if a process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from support.runner import CLI, Console, eventually, facts, only_directory, python, recording, run, start
from support.scripts import clean_environment, only_process, only_run, program


def counter(*numbers: int) -> list[str]:
    """Return a command that prints which of these signals it got, once for each time, and exits with 7."""
    return program("counts_signals.py", *(str(int(number)) for number in numbers))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"])
def test_a_signal_is_handed_on_once(name: str, tmp_path: Path) -> None:
    with start(tmp_path, counter(signal.Signals[name])) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        running.send_signal(signal.Signals[name])
        assert running.stdout.read() == f"{name}\n".encode()
        assert running.wait() == 7


@pytest.mark.parametrize(("key", "name"), [(b"\x03", "SIGINT"), (b"\x1c", "SIGQUIT")])
def test_a_key_at_the_terminal_reaches_the_command_once(key: bytes, name: str, tmp_path: Path) -> None:
    command = counter(signal.SIGINT, signal.SIGQUIT)
    console = Console([CLI, "run", "--dir", str(tmp_path), "--", *command])
    console.wait_for(b"ready\r\n")
    console.type(key)
    console.wait_for(f"{name}\r\n".encode())
    assert console.end() == 7


def test_ctrl_z_stops_both_and_both_go_on(tmp_path: Path) -> None:
    command = ["sh", "-c", "echo ready; read line; echo got $line; exit 3"]
    console = Console([*program("job_shell.py"), CLI, "run", "--dir", str(tmp_path), "--", *command])
    console.wait_for(b"ready\r\n")
    console.type(b"\x1a")
    console.wait_for(b"both stopped by SIGTSTP\r\n")
    console.type(b"hello\n")
    console.wait_for(b"got hello\r\n")
    console.wait_for(b"exit 3\r\n")
    console.end()


def test_with_a_terminal_of_its_own_the_command_is_stopped_and_goes_on_too(tmp_path: Path) -> None:
    command = ["sh", "-c", "echo ready; read line; echo got $line; exit 3"]
    console = Console([*program("job_shell.py"), CLI, "run", "--dir", str(tmp_path), "--tty", "--", *command])
    console.wait_for(b"ready\r\n")
    os.kill(int(console.seen.split()[1]), signal.SIGTSTP)
    console.wait_for(b"both stopped by SIGTSTP\r\n")
    eventually(console.is_raw)
    console.type(b"hello\r")
    console.wait_for(b"got hello\r\n")
    console.wait_for(b"exit 3\r\n")
    console.end()


def test_what_the_caller_ignores_is_ignored(tmp_path: Path) -> None:
    shell = f'trap "" HUP; exec {CLI} run --dir {tmp_path} -- sh -c "echo ready; read line; exit 3"'
    with subprocess.Popen(
        ["bash", "-c", shell], env=clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.send_signal(signal.SIGHUP)
        running.communicate(b"\n")
    assert running.returncode == 3


def test_signals_are_handed_on_while_a_reader_does_not_read(tmp_path: Path) -> None:
    command = python("import sys, time; print('x' * 1_000_000, flush=True); time.sleep(60)")
    with start(tmp_path, command) as running:
        eventually(lambda: any(file.stat().st_size > 1_000_000 for file in tmp_path.glob("*/stdout.log")))
        running.terminate()
        eventually(lambda: facts(tmp_path)["exit_code"] is not None)
        assert running.stdout is not None
        assert len(running.stdout.read()) == 1_000_001
        assert running.wait() == -signal.SIGTERM


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT", "SIGTERM", "SIGINT"])
def test_a_death_by_signal_is_repeated_without_a_core_dump(name: str, tmp_path: Path) -> None:
    number = signal.Signals[name]
    # Cores are allowed to whoever asks for this run, and not to the command itself.
    shell = f"ulimit -S -c $(ulimit -H -c); exec {CLI} run --dir store -- sh -c 'ulimit -c 0; kill -{int(number)} $$'"
    done = subprocess.run(
        ["bash", "-c", shell], env=clean_environment(), cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == -number
    assert os.listdir(tmp_path) == ["store"]
    assert (facts(tmp_path / "store")["exit_code"], facts(tmp_path / "store")["signal"]) == (128 + number, number)


def test_a_command_that_is_killed_leaves_what_it_measured_and_its_summary(tmp_path: Path) -> None:
    command = recording(
        """
        import os, signal
        with case("S", "c"):
            with dispatch(): pass
            with dispatch(): os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    done = run(tmp_path, command, expect=-signal.SIGKILL)
    assert b"S::c" in done.stderr
    (recorded,) = only_process(only_run(tmp_path)).cases
    assert [one.outcome for one in recorded.dispatches] == ["pass", "aborted"]


def test_when_run_itself_is_killed_the_command_goes_on_and_its_journal_is_whole(tmp_path: Path) -> None:
    command = recording(
        """
        import sys
        with case("S", "c"), dispatch():
            print("ready", flush=True)
            sys.stdin.readline()
            print("went on", flush=True)
            print("and on", file=sys.stderr, flush=True)
        """
    )
    with start(tmp_path, command, stdin=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.kill()
        running.wait()
        running.communicate(b"\n")
    eventually(lambda: only_process(only_run(tmp_path)).record.ended == "clean")
    assert only_process(only_run(tmp_path)).cases[0].dispatches[0].outcome == "pass"
    assert (only_directory(tmp_path) / "stdout.log").read_text() == "ready\nwent on\n"
    assert (only_directory(tmp_path) / "stderr.log").read_text().endswith("and on\n")
    assert facts(tmp_path)["exit_code"] is None
