"""`scenetest-otel run`: the output of the command, its exit code, and the messages about the run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.runner import CLI, eventually, facts, only_directory, python, recording, run, start
from support.scripts import clean_environment

from opentelemetry.instrumentation.scenetest.rundir import layout, liveness

ALL_BYTES = bytes(range(256)) * 3 + b"\xff\xfe no newline at the end"
NAMES = "it names a directory, so no '/', and not '', '.' or '..'"
NAME_ANOTHER = "name a directory that can be written, by --dir or SCENETEST_OTEL_DIR"
ONE_CASE = "with case('S', 'c'), dispatch(): pass"


def test_output_arrives_byte_for_byte_on_the_stream_that_it_was_written_to(tmp_path: Path) -> None:
    done = run(tmp_path, python(f"import os; os.write(1, {ALL_BYTES!r}); os.write(2, {ALL_BYTES[::-1]!r})"))
    assert done.stdout == ALL_BYTES
    assert done.stderr.startswith(ALL_BYTES[::-1])
    assert (only_directory(tmp_path) / "stdout.log").read_bytes() == ALL_BYTES
    assert (only_directory(tmp_path) / "stderr.log").read_bytes() == ALL_BYTES[::-1]


def test_5_mb_arrive_whole_and_soon(tmp_path: Path) -> None:
    begin = time.monotonic()
    done = run(tmp_path, python("import sys; sys.stdout.write('\\n'.join(map(str, range(720_000))))"))
    assert time.monotonic() - begin < 10
    assert done.stdout == "\n".join(map(str, range(720_000))).encode()


def test_output_appears_while_the_command_runs(tmp_path: Path) -> None:
    command = python("print('first', flush=True); input(); print('second')")
    with start(tmp_path, command, stdin=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"first\n"
        assert running.poll() is None
        assert running.communicate(b"\n")[0] == b"second\n"


def test_the_command_writes_to_files_that_append(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        python(
            """
            import fcntl, os, stat
            for stream in (1, 2):
                print(stat.S_ISREG(os.fstat(stream).st_mode), bool(fcntl.fcntl(stream, fcntl.F_GETFL) & os.O_APPEND))
            """
        ),
    )
    assert done.stdout == b"True True\n" * 2


def test_stdin_is_the_callers(tmp_path: Path) -> None:
    assert run(tmp_path, ["cat"], input=ALL_BYTES).stdout == ALL_BYTES


def test_the_environment_of_the_command_differs_in_one_variable(tmp_path: Path) -> None:
    environment = clean_environment(ODD="\udcff\n=")
    direct = subprocess.run(["env", "-0"], env=environment, capture_output=True, check=True).stdout
    inside = run(tmp_path, ["env", "-0"], env=environment).stdout
    ours = f"SCENETEST_OTEL_RUN={only_directory(tmp_path)}".encode()
    assert set(inside.split(b"\0")) - set(direct.split(b"\0")) == {ours}
    assert set(direct.split(b"\0")) <= set(inside.split(b"\0"))


def test_the_command_inherits_what_signals_do(tmp_path: Path) -> None:
    command = ["grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"]
    shell = ["bash", "-c", 'trap "" HUP; exec "$@"', "bash"]

    def masks(call: list[str]) -> list[int]:
        lines = subprocess.run(call, env=clean_environment(), capture_output=True, check=True).stdout.splitlines()
        # The 31 of POSIX: of the others, glibc's posix_spawn ignores the two that glibc keeps for itself.
        return [int(line.split()[1], 16) & 0x7FFF_FFFF for line in lines]

    inside = masks([*shell, CLI, "run", "--dir", str(tmp_path), "--", *command])
    assert inside == masks([*shell, *command]) == [0, 1 << (signal.SIGHUP - 1)]


def test_the_command_inherits_open_files(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w+b") as file:
        number = file.fileno()
        run(tmp_path / "store", ["sh", "-c", f"echo here >/dev/fd/{number}"], pass_fds=(number,))
    assert (tmp_path / "file").read_text() == "here\n"


@pytest.mark.parametrize("code", [0, 1, 42, 125, 255])
def test_the_exit_code_is_that_of_the_command(code: int, tmp_path: Path) -> None:
    run(tmp_path, ["sh", "-c", f"exit {code}"], expect=code)
    assert facts(tmp_path)["exit_code"] == code


@pytest.mark.parametrize(
    ("command", "code", "sentence"),
    [
        ("no-such-command", 127, "no command 'no-such-command': No such file or directory"),
        ("/", 126, "'/' can't be run: Permission denied"),
    ],
)
def test_a_command_that_cannot_start_leaves_no_run(command: str, code: int, sentence: str, tmp_path: Path) -> None:
    done = run(tmp_path / "store", [command], expect=code)
    assert done.stderr.decode() == f"scenetest-otel: {sentence}\n"
    assert os.listdir(tmp_path / "store") == [".gitignore"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "there is no command: give one after --, as in scenetest-otel run -- python test_x.py"),
        ([""], "there is no command: give one after --, as in scenetest-otel run -- python test_x.py"),
        (["--name", "a/b", "true"], f"--name 'a/b' can't be used: {NAMES}"),
        (["--name", "..", "true"], f"--name '..' can't be used: {NAMES}"),
        (
            ["--dir", "/dev/null", "true"],
            f"no run can be made in '/dev/null' (Not a directory): {NAME_ANOTHER}",
        ),
        (
            ["--dir", "/proc/runs", "true"],
            f"no run can be made in '/proc/runs' (No such file or directory): {NAME_ANOTHER}",
        ),
    ],
)
def test_what_cannot_be_used_is_one_sentence(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [CLI, "run", *arguments], env=clean_environment(), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr, done.stdout) == (2, f"scenetest-otel: {sentence}\n", "")
    assert os.listdir(tmp_path) == []


def test_a_fault_of_its_own_is_125(tmp_path: Path) -> None:
    call = f"ulimit -n 6; exec {CLI} run --dir {tmp_path} --tty -- true"
    done = subprocess.run(["bash", "-c", call], env=clean_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 125
    assert done.stderr.startswith("scenetest-otel: internal error: OSError: [Errno 24] Too many open files")
    assert done.stderr.count("\n") == 1


def test_the_store_is_the_option_else_the_variable_else_a_folder_here(tmp_path: Path) -> None:
    def names(options: list[str], **extra: str) -> list[str]:
        call = [CLI, "run", *options, "--name", "r", "--", "true"]
        subprocess.run(call, env=clean_environment(**extra), cwd=tmp_path, stderr=subprocess.DEVNULL, check=True)
        return sorted(str(path.relative_to(tmp_path).parent.parent) for path in tmp_path.glob("*/r/run.json"))

    assert names([]) == ["scenetest-runs"]
    assert names([], SCENETEST_OTEL_DIR="variable") == ["scenetest-runs", "variable"]
    assert names(["--dir", "option"], SCENETEST_OTEL_DIR="variable") == ["option", "scenetest-runs", "variable"]


def test_a_new_store_is_ignored_by_git_and_a_store_that_was_there_is_left_alone(tmp_path: Path) -> None:
    run(tmp_path / "new", ["true"])
    assert (tmp_path / "new" / ".gitignore").read_text() == "*\n"
    (tmp_path / "old").mkdir()
    run(tmp_path / "old", ["true"], "--name", "r")
    assert os.listdir(tmp_path / "old") == ["r"]


def test_a_second_run_of_one_name_gets_a_number(tmp_path: Path) -> None:
    for _ in range(2):
        run(tmp_path, ["true"], "--name", "nightly")
    assert sorted(os.listdir(tmp_path)) == ["nightly", "nightly-2"]


def test_run_json_says_what_was_run_and_how_it_ended(tmp_path: Path) -> None:
    before = time.time_ns()
    run(tmp_path, ["sh", "-c", "exit 3"], "--name", "r", expect=3)
    known = facts(tmp_path)
    assert before <= known.pop("started_unix_ns") <= known.pop("ended_unix_ns") <= time.time_ns()
    assert len(known.pop("id")) == 32
    assert known.pop("pid") > 1
    assert known.pop("start_ticks") > 0
    assert known.pop("boot_id") == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert known == {
        "host": os.uname().nodename,
        "schema": layout.SCHEMA,
        "name": "r",
        "by": "run",
        "command": ["sh", "-c", "exit 3"],
        "tty": False,
        "exit_code": 3,
        "signal": None,
        "dirty": {},
    }
    assert sorted(os.listdir(tmp_path / "r")) == ["run.json", "stderr.log", "stdout.log"]


def test_the_summary_follows_on_stderr_and_stdout_is_the_commands(tmp_path: Path) -> None:
    done = run(tmp_path, recording(f"{ONE_CASE}\nprint('mine')"), "--name", "nightly")
    assert done.stdout == b"mine\n"
    assert b"nightly" in done.stderr
    assert b"S::c" in done.stderr


def test_a_command_without_anything_instrumented_is_told_so_in_one_line(tmp_path: Path) -> None:
    done = run(tmp_path, ["sh", "-c", "echo said >&2"])
    said, sentence = done.stderr.decode().splitlines()
    assert said == "said"
    assert sentence.startswith("scenetest-otel: nothing was recorded: ")


def test_the_run_is_locked_while_the_command_runs_and_free_afterwards(tmp_path: Path) -> None:
    with start(tmp_path, ["cat"], stdin=subprocess.PIPE) as running:
        eventually(lambda: bool(list(tmp_path.glob("*/stdout.log"))))
        file = only_directory(tmp_path) / "run.json"
        assert liveness.is_locked(file) is True
        assert facts(tmp_path)["exit_code"] is None
        running.communicate()
    assert liveness.is_locked(file) is False


def test_a_process_left_behind_keeps_nobody_waiting(tmp_path: Path) -> None:
    run(tmp_path / "store", ["sh", "-c", f"(while :; do echo again; sleep 0.01; done) & echo $! >{tmp_path}/left"])
    os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)


def test_a_reader_that_leaves_does_not_end_the_command(tmp_path: Path) -> None:
    command = python("import time\nfor _ in range(5): print('line', flush=True); time.sleep(0.2)\nraise SystemExit(3)")
    with start(tmp_path, command) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.wait() == 3
    assert (only_directory(tmp_path) / "stdout.log").read_bytes() == b"line\n" * 5


def test_a_reader_that_does_not_read_does_not_hold_up_the_command(tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    command = python(f"import os; print('x' * 1_000_000); open({str(ended)!r}, 'x')")
    with start(tmp_path / "store", command) as running:
        eventually(ended.exists)
        assert running.stdout is not None
        assert len(running.stdout.read()) == 1_000_001


def test_output_goes_to_its_file_when_the_callers_stdout_is_closed(tmp_path: Path) -> None:
    call = f"exec {CLI} run --dir {tmp_path} -- sh -c 'echo out; exit 3' >&-"
    done = subprocess.run(["bash", "-c", call], env=clean_environment(), capture_output=True, check=False)
    assert done.returncode == 3
    assert (only_directory(tmp_path) / "stdout.log").read_bytes() == b"out\n"
    assert facts(tmp_path)["exit_code"] == 3


def test_a_full_disk_under_the_callers_stdout_is_told_and_changes_nothing(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        call = [CLI, "run", "--dir", str(tmp_path), "--", "sh", "-c", "echo out; exit 3"]
        done = subprocess.run(call, env=clean_environment(), stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 3
    log = only_directory(tmp_path) / "stdout.log"
    assert f"the rest of {log} could not be shown: No space left on device\n" in done.stderr.decode()


def test_it_sleeps_while_the_command_runs(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        python(
            """
            import os, time
            def ticks():
                fields = open(f"/proc/{os.getppid()}/stat").read().rpartition(")")[2].split()
                return int(fields[11]) + int(fields[12])
            time.sleep(0.2)
            before = ticks()
            time.sleep(2)
            print(ticks() - before)
            """
        ),
    )
    assert int(done.stdout) <= 2, "more than 1 % of a CPU"


def test_the_console_exporter_prints_the_spans_after_the_commands_own_output(tmp_path: Path) -> None:
    environment = clean_environment(OTEL_TRACES_EXPORTER="console")
    done = run(tmp_path, recording(f"{ONE_CASE}\nprint('mine')"), expect=0, env=environment)
    first, _, spans = done.stdout.decode().partition("\n")
    assert first == "mine"
    decoder, names = json.JSONDecoder(), list[str]()
    while spans := spans.lstrip():
        span, end = decoder.raw_decode(spans)
        names.append(span["name"].partition(" ")[0])
        spans = spans[end:]
    assert sorted(names) == ["S::c", "dispatch", "run"]
