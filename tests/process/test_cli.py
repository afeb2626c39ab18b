"""The command line: what all commands have in common."""

from __future__ import annotations

import subprocess
import sys

from support.runner import CLI
from support.scripts import clean_environment, run_script

from opentelemetry.instrumentation.scenetest import __version__
from opentelemetry.instrumentation.scenetest.cli import COMMANDS


def call(*arguments: str, program: tuple[str, ...] = (CLI,)) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*program, *arguments], env=clean_environment(), capture_output=True, text=True, timeout=60, check=False
    )


def test_without_a_command_it_lists_the_commands() -> None:
    done = call()
    assert done.returncode == 0
    listed = done.stdout.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed if line.startswith("  ") and line[2] != " "] == list(COMMANDS)


def test_it_tells_its_version() -> None:
    assert call("--version").stdout == f"scenetest-otel {__version__}\n"


def test_python_m_is_the_same_program() -> None:
    module = (sys.executable, "-m", "opentelemetry.instrumentation.scenetest")
    assert call("--help", program=module).stdout == call("--help").stdout


def test_an_unknown_command_is_one_sentence() -> None:
    done = call("rnu")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("scenetest-otel: No such command 'rnu'.")
    assert done.stderr.count("\n") == 1


def test_an_unknown_option_is_one_sentence() -> None:
    done = call("run", "--nmae", "x", "--", "true")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "scenetest-otel run: No such option '--nmae'. Did you mean '--name'?\n"


def test_a_reader_that_has_left_gets_no_complaint() -> None:
    done = subprocess.run(
        f"{CLI} --help | true", shell=True, env=clean_environment(), capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


def test_a_fault_of_ours_is_one_sentence_without_a_traceback() -> None:
    done = run_script(
        """
        import click
        from opentelemetry.instrumentation.scenetest import cli
        @cli.main.command("broken")
        def broken(): raise KeyError("x")
        cli.COMMANDS = ("broken",)
        cli.Commands.get_command = lambda self, ctx, name: broken
        cli.main(["broken"])
        """
    )
    assert (done.returncode, done.stderr) == (1, "scenetest-otel: internal error: KeyError: 'x'\n")


def test_run_imports_nothing_heavy_before_the_command_starts() -> None:
    done = run_script(
        """
        import sys
        from opentelemetry.instrumentation.scenetest.cli import main, run
        print(*sorted({"numpy", "scipy", "rich", "opentelemetry.sdk", "torch", "asyncio"} & set(sys.modules)))
        """
    )
    assert done.stdout == "\n"


def test_a_missing_option_with_choices_is_one_line_too() -> None:
    done = subprocess.run([CLI, "export", "x"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.endswith("Choose from: otlp-json, perfetto")


def test_a_directory_that_the_system_refuses_is_one_sentence() -> None:
    done = call("ab", "--arm", f"base={300 * 'a'}", "--", "true")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"scenetest-otel: '{300 * 'a'}' can't be used: File name too long\n"


def test_output_that_does_not_fit_on_the_disk_is_one_sentence() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([CLI, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "scenetest-otel: standard output can't be used: No space left on device\n"
