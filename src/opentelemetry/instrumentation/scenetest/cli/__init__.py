"""`scenetest-otel`: one module per command, imported only when that command is called.

Commands raise `BadInputError` or `Failure`. Only this module turns them into a message and an exit code.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NoReturn, cast

import click

from opentelemetry.instrumentation.scenetest.cli.ending import PROGRAM, die_by, discard_output, flush, say
from opentelemetry.instrumentation.scenetest.errors import BadInputError, Failure
from opentelemetry.instrumentation.scenetest.exits import Exit
from opentelemetry.instrumentation.scenetest.version import __version__

_REFUSED = frozenset({errno.EACCES, errno.ENAMETOOLONG, errno.ENOSPC, errno.EPERM, errno.EROFS})
"""Errors of a path that the user gave. All others are internal errors."""

COMMANDS = ("doctor", "run", "runs", "show", "compare", "ab", "report", "ingest", "export", "push")
"""The commands, in the order of the help text. Each is a function in the module of the same name."""


class Commands(click.Group):
    """The commands of `COMMANDS`, and the only place that handles their errors."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"{__name__}.{cmd_name}"), cmd_name)
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # as `__main__` sets it for the time of the imports
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return command

    def main(  # pyright: ignore[reportIncompatibleMethodOverride]: click's has overloads
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **_: Any
    ) -> NoReturn:
        """Run a command and exit with the code that it returns, or with an error message instead of a traceback."""
        _open_standard_streams()
        failed = _Failed(sys.argv[1:] if args is None else args)
        try:
            result: object = super().main(args, PROGRAM, standalone_mode=False)
            flush()
        except (click.Abort, KeyboardInterrupt):
            die_by(signal.SIGINT)
        except click.ClickException as error:
            context = getattr(error, "ctx", None)
            # Join the lines: click prints each choice on its own line.
            failed(
                " ".join(error.format_message().split()), Exit.BAD_INPUT, context.command_path if context else PROGRAM
            )
        except BadInputError as error:
            failed(str(error), Exit.BAD_INPUT)
        except Failure as error:
            failed(str(error), error.code, reported=error.reported)
        except BrokenPipeError:
            discard_output(1, 2)
            sys.exit(Exit.FAULT)
        except OSError as error:
            ours = error.errno not in _REFUSED
            failed(
                _fault(error) if ours else f"{_place(error)} can't be used: {error.strerror}",
                Exit.FAULT if ours else Exit.BAD_INPUT,
            )
        except Exception as error:
            failed(_fault(error), Exit.FAULT)
        sys.exit(result if isinstance(result, int) else Exit.DONE)


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Record SceneTest runs with the conditions of their measurement, and read them again."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


class _Failed:
    """Ends the program with a message on standard error; with `--json`, also with the same as JSON on standard output.

    Args:
        args: the command line.
    """

    def __init__(self, args: Sequence[str]) -> None:
        words = list(args)
        if words[:1] and words[0] in _TAKE_A_COMMAND and "--" in words:
            words = words[: words.index("--")]
        self._as_json = "--json" in words and words[:1] != ["run"]

    def __call__(self, message: str, code: Exit, who: str = PROGRAM, *, reported: bool = False) -> NoReturn:
        """Print and exit.

        Args:
            message: one sentence.
            code: the exit code.
            who: the command that failed.
            reported: whether the command has already printed a JSON object.
        """
        say(message, who)
        if self._as_json and not reported:
            try:
                click.echo(json.dumps({"error": {"code": int(code), "message": message}}))
                flush()
            except OSError:
                discard_output()
        sys.exit(code)


_TAKE_A_COMMAND = ("ab", "doctor", "run")
"""Commands that take another command after `--`, whose options must not be read as ours."""


def _fault(error: Exception) -> str:
    return f"internal error: {type(error).__name__}: {error}"


def _place(error: OSError) -> str:
    return "standard output" if error.filename is None else repr(os.fsdecode(error.filename))


def _open_standard_streams() -> None:
    """Make the standard streams accept any text, and open those that the caller has closed.

    Otherwise a file opened later would get the descriptor of a standard stream.
    """
    stream: object = sys.stdout
    if isinstance(stream, TextIOWrapper):
        cast("TextIOWrapper[Any]", stream).reconfigure(errors="backslashreplace")  # as standard error is
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
