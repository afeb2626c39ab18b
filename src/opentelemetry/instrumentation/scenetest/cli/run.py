"""`scenetest-otel run`: runs one command, and records it and every Python process below it as one run."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING

import click

from opentelemetry.instrumentation.scenetest import destination
from opentelemetry.instrumentation.scenetest.cli.arguments import check_name, no_run_in
from opentelemetry.instrumentation.scenetest.cli.ending import die_by, discard_output, flush_if_possible, say, tell
from opentelemetry.instrumentation.scenetest.errors import BadInputError, Failure
from opentelemetry.instrumentation.scenetest.exits import Exit
from opentelemetry.instrumentation.scenetest.rundir import exit_wait, handover, layout, run_file
from opentelemetry.instrumentation.scenetest.rundir.run_file import HeldRunFile
from opentelemetry.instrumentation.scenetest.runner import checkouts
from opentelemetry.instrumentation.scenetest.runner.follow import OutputFiles
from opentelemetry.instrumentation.scenetest.runner.harvest import Harvest
from opentelemetry.instrumentation.scenetest.runner.supervise import supervise

if TYPE_CHECKING:
    from opentelemetry.instrumentation.scenetest.runner.terminal import Terminal

_NOTHING_RECORDED = (
    "nothing was recorded: no Python process of the command imported torch or the harness, or had a case or a "
    "dispatch, or none could join the run. To find out why: scenetest-otel doctor -- CMD"
)


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--dir", "store", metavar="DIR", help=f"The store: default ${layout.STORE_VARIABLE}, {layout.LOCAL_STORE}."
)
@click.option("--name", metavar="NAME", help="Name of the run: default its time and the name of the script.")
@click.option("--deliver-later", is_flag=True, hidden=True, help="Leave the delivery to the caller.")
@click.option("--arm", hidden=True, help="What `ab` records of the arm, as JSON.")
@click.option("--tty", is_flag=True, help="Give the command a terminal.")
@click.option("--require-record", is_flag=True, help="Exit with 6 if the command succeeds and nothing was recorded.")
@click.argument("command", metavar="-- CMD...", nargs=-1, type=click.UNPROCESSED)
def run(
    store: str | None,
    name: str | None,
    deliver_later: bool,
    arm: str | None,
    tty: bool,
    require_record: bool,
    command: tuple[str, ...],
) -> int:
    """Run a command and record every Python process below it as one run.

    Its output goes to files in the run directory and is shown from there. The exit code is that of the command.
    """
    if not any(command[:1]):
        raise BadInputError("there is no command: give one after --, as in scenetest-otel run -- python test_x.py")
    facts = {"tty": tty, **({"arm": json.loads(arm)} if arm else {})}
    directory = _make_run(store or os.environ.get(layout.STORE_VARIABLE) or layout.LOCAL_STORE, name, command, facts)
    if deliver_later:
        Path(directory, layout.DELIVERY_LATER).touch(layout.FILE_MODE)
    recording: _Recording | None = None
    try:
        recording = _Recording(directory, tty, command)
        ended = recording.run()
    except BaseException as error:
        # The command was not run. The watcher ends when its directory is gone.
        shutil.rmtree(directory, ignore_errors=True)
        if isinstance(error, Failure) or not isinstance(error, Exception):
            raise
        raise Failure(_fault(error), Exit.RUN_FAULT) from error
    try:
        recording.conclude(ended)
        if os.path.isdir(directory):
            _summarise(directory, ended)
            _tell_delivery(directory)
    except KeyboardInterrupt:
        # The user interrupted the summary, so skip the rest.
        pass
    except Exception as error:
        say(_fault(error))
    if ended < 0:
        die_by(-ended)
    flush_if_possible()
    if ended == 0 and require_record and not _is_recorded(directory):
        return Exit.CHECK_FAILED
    return ended


def _fault(error: Exception) -> str:
    return f"internal error: {type(error).__name__}: {error}"


def _make_run(store: str, name: str | None, command: Sequence[str], facts: Mapping[str, object]) -> str:
    check_name(name)
    try:
        run_file.make_store(store)
        return run_file.make_run(store, by="run", command=command, name=name, **facts, **_from_environment())
    except OSError as error:
        raise no_run_in(store, error) from error


def _from_environment() -> dict[str, str]:
    """Return what the environment says of the span of the run: its parent, and who this process is."""
    variables = {
        "traceparent": "TRACEPARENT",
        "tracestate": "TRACESTATE",
        "service_name": "OTEL_SERVICE_NAME",
        "resource_attributes": "OTEL_RESOURCE_ATTRIBUTES",
    }
    return {key: os.environ[variable] for key, variable in variables.items() if variable in os.environ}


class _Recording:
    """One command that is run and recorded.

    Args:
        directory: the run directory.
        tty: whether the command gets a terminal.
        command: the command.
    """

    def __init__(self, directory: str, tty: bool, command: Sequence[str]) -> None:
        self._directory = directory
        self._command = command
        self._run_file = HeldRunFile(directory)
        _warn_of_endpoint()
        # Start the watcher before the command, so that no measured process has to. It survives if we are killed.
        handover.start(directory)
        self._output = _output(directory, tty)
        self._harvest = Harvest(directory)

    def run(self) -> int:
        """Run the command, and return its exit code, or the negative number of the signal that killed it."""
        environment = {**os.environ, layout.RUN_VARIABLE: self._directory}
        return supervise(self._command, environment, self._output, self._harvest.look)

    def conclude(self, ended: int) -> None:
        """Record how the command ended, show the rest of its output, and report what is missing in the run."""
        code, killed_by = (ended, None) if ended >= 0 else (128 - ended, -ended)
        dirty = checkouts.dirty(Path(self._directory))
        problems: list[str] = []
        try:
            self._run_file.update(exit_code=code, signal=killed_by, ended_unix_ns=time_ns(), dirty=dirty)
        except OSError as error:
            problems.append(f"the exit code {code} is not in {self._directory}/{layout.RUN_FILE}: {error.strerror}")
        self._output.drain()
        for problem in (*problems, *self._output.problems(), *self._harvest.gather()):
            say(problem)
        self._run_file.release()


def _warn_of_endpoint() -> None:
    """Warn before the run if its spans can't be sent with the present settings."""
    if not destination.has_endpoint():
        return
    from opentelemetry.instrumentation.scenetest.deliver import endpoint, tls

    try:
        if (to := endpoint.from_environment()) is not None:
            endpoint.headers()
            tls.files(to)
    except BadInputError as error:
        say(f"{error}; what is recorded stays in the run directory until it is sent by push")


def _output(directory: str, tty: bool) -> OutputFiles | Terminal:
    if not tty:
        return OutputFiles(directory)
    from opentelemetry.instrumentation.scenetest.runner.terminal import Terminal

    return Terminal(directory)


def _is_recorded(directory: str) -> bool:
    return os.path.isdir(directory) and bool(layout.journal_names(directory))


def _summarise(directory: str, ended: int) -> None:
    """Print a summary of the run. Problems don't change the exit code."""
    if not layout.journal_names(directory):
        how = f"exit code {ended}" if ended >= 0 else f"signal {-ended}"
        # A command that fails early records nothing. Its own messages explain the failure.
        say(_NOTHING_RECORDED if ended == 0 else f"the command ended with {how} before a case or a dispatch began")
        return
    from opentelemetry.instrumentation.scenetest.cli.show import print_summary

    try:
        print_summary(Path(directory))
    except BrokenPipeError:
        discard_output(1, 2)
    except Exception as error:
        say(f"no summary of {directory}: {error}")


def _print_spans(directory: Path) -> None:
    """Print the spans after the command's own output, as OpenTelemetry's console exporter does."""
    from opentelemetry.instrumentation.scenetest.cli.push import print_spans

    try:
        print_spans(directory)
    except BrokenPipeError:
        discard_output(1, 2)
    except Exception as error:
        say(f"no spans of {directory} on the console: {error}")


def _tell_delivery(directory: str) -> None:
    """Report where the spans went. The watcher delivers them after all processes of the run have ended."""
    from opentelemetry.instrumentation.scenetest.deliver import withheld

    if not layout.journal_names(directory) or handover.is_later(directory):
        return
    if destination.prints_to_console():
        _print_spans(Path(directory))
    if destination.has_endpoint():
        _tell_outcome(directory)
    for sentence in withheld.sentences(Path(directory)):
        say(sentence)


def _tell_outcome(directory: str) -> None:
    delivery = exit_wait.outcome(
        directory, lambda: max(map(os.path.getmtime, layout.checkpoints(directory)), default=0)
    )
    if problem := delivery["problem"]:
        tell(exit_wait.left(directory, problem))
    else:
        say(f"{delivery['accepted']} spans delivered to {delivery['to']}")
