"""`scenetest-otel run --tty`: the command has a terminal."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from support.runner import CLI, Console, facts, only_directory, python, recording, run, start
from support.scripts import only_process, only_run, program

WHERE = "[ -t 0 ] && echo in; [ -t 1 ] && echo out; [ -t 2 ] && echo err"


def console(store: Path, command: list[str], **how: int) -> Console:
    return Console([CLI, "run", "--dir", str(store), "--tty", "--", *command], **how)


def test_both_streams_are_a_terminal_and_stdin_is_the_callers(tmp_path: Path) -> None:
    done = run(tmp_path, ["sh", "-c", f"{WHERE}; cat; echo said >&2"], "--tty", input=b"\xff\x00\x04\x03")
    assert done.stdout == b"out\r\nerr\r\n\xff\x00\x04\x03said\r\n"


def test_stdin_is_a_terminal_when_the_callers_is(tmp_path: Path) -> None:
    there = console(tmp_path, ["sh", "-c", f"{WHERE}; tty >/dev/null && echo controlled </dev/tty"])
    assert there.end() == 0
    assert there.seen.startswith(b"in\r\nout\r\nerr\r\ncontrolled\r\n")


def test_what_is_printed_is_stored_and_the_run_says_that_it_had_a_terminal(tmp_path: Path) -> None:
    run(tmp_path, ["sh", "-c", "echo out; echo err >&2"], "--tty")
    directory = only_directory(tmp_path)
    assert (directory / "terminal.log").read_bytes() == b"out\r\nerr\r\n"
    assert sorted(os.listdir(directory)) == ["run.json", "terminal.log"]
    assert facts(tmp_path)["tty"] is True


def test_the_condition_of_stderr_is_tty(tmp_path: Path) -> None:
    run(tmp_path, recording("with case('S', 'c'), dispatch(): pass"), "--tty")
    assert only_process(only_run(tmp_path)).record.conditions["scenetest.stderr"] == "tty"


def test_much_output_arrives_whole(tmp_path: Path) -> None:
    done = run(tmp_path, python("import sys; sys.stdout.write('\\n'.join(map(str, range(200_000))))"), "--tty")
    assert done.stdout == "\r\n".join(map(str, range(200_000))).encode()


def test_it_has_the_size_of_the_callers_window_and_follows_it(tmp_path: Path) -> None:
    command = python(
        """
        import os, signal, time
        sizes = []
        signal.signal(signal.SIGWINCH, lambda *_: sizes.append(os.get_terminal_size(1)))
        print(*os.get_terminal_size(1), flush=True)
        while not sizes: time.sleep(0.01)
        print(*sizes[0], flush=True)
        """
    )
    there = console(tmp_path, command, rows=31, columns=97)
    there.wait_for(b"97 31\r\n")
    there.resize(41, 117)
    there.wait_for(b"117 41\r\n")
    assert there.end() == 0


def test_without_a_terminal_of_the_caller_it_has_24_rows_of_80_columns(tmp_path: Path) -> None:
    assert run(tmp_path, ["sh", "-c", "stty size <&1"], "--tty").stdout == b"24 80\r\n"


def test_keys_go_through_to_the_command_and_the_callers_terminal_is_given_back(tmp_path: Path) -> None:
    there = console(tmp_path, ["sh", "-c", "read line; echo got $line; exit 3"])
    there.type(b"hello\r")
    there.wait_for(b"got hello\r\n")
    assert there.end() == 3


def test_the_terminal_is_raw_for_the_command_and_as_before_afterwards(tmp_path: Path) -> None:
    shell = f"{CLI} run --dir {tmp_path} --tty -- sh -c 'echo ready; read line'; echo back; read line"
    there = Console(["/bin/sh", "-c", shell])
    there.wait_for(b"ready\r\n")
    assert there.is_raw()
    there.type(b"\r")
    there.wait_for(b"back\r\n")
    assert not there.is_raw()
    there.type(b"\n")
    there.end()


def test_ctrl_c_reaches_the_command_once(tmp_path: Path) -> None:
    there = console(tmp_path, program("waits_for_ctrl_c.py"))
    there.wait_for(b"ready\r\n")
    there.type(b"\x03")
    there.wait_for(b"INT end\r\n")
    assert there.end() == 0


def test_ctrl_c_reaches_the_command_also_when_its_stdin_is_no_terminal(tmp_path: Path) -> None:
    with open(os.devnull, "rb") as nothing:
        there = console(tmp_path, program("waits_for_ctrl_c.py"), stdin=nothing.fileno())
    there.wait_for(b"ready\r")
    there.type(b"\x03")
    there.wait_for(b"INT end\r")
    assert there.end() == 0


def test_a_signal_is_handed_on_and_a_death_by_it_repeated(tmp_path: Path) -> None:
    with start(tmp_path, ["sh", "-c", "echo ready; exec sleep 60"], "--tty", stdin=subprocess.DEVNULL) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\r\n"
        running.terminate()
        assert running.wait() == -signal.SIGTERM


def test_a_process_left_behind_keeps_nobody_waiting(tmp_path: Path) -> None:
    loop = f"trap '' HUP; (while :; do echo again; sleep 0.01; done) & echo $! >{tmp_path}/left"
    run(tmp_path / "store", ["sh", "-c", loop], "--tty")
    os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)
