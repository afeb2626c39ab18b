"""`scenetest-otel doctor`: checks what would be recorded here, and reports problems."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from rich.text import Text

from opentelemetry.instrumentation.scenetest.cli import checks
from opentelemetry.instrumentation.scenetest.exits import Exit
from opentelemetry.instrumentation.scenetest.render.folding import print_line
from opentelemetry.instrumentation.scenetest.render.plain import plain
from opentelemetry.instrumentation.scenetest.render.plain_console import console
from opentelemetry.instrumentation.scenetest.runner import interpreter

_STYLES = {"ok": "green", "note": "yellow", "wrong": "bold white on red"}
_WIDE = 90
"""Minimum terminal width, in characters, for a separate column of messages."""


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--import", "imports_torch", is_flag=True, help="Also import torch. This loads its device backends.")
@click.option("--dir", "store", metavar="DIR", help="The store of the runs, as for `run`.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.argument("command", metavar="[-- CMD...]", nargs=-1, type=click.UNPROCESSED)
def doctor(imports_torch: bool, store: str | None, as_json: bool, command: tuple[str, ...]) -> int:
    """Check what `run` would record here, and report problems.

    It checks the Python that CMD starts; without CMD, the Python on PATH. Nothing is recorded. The endpoint gets one
    request without spans. The exit code is 6 if there is a problem.
    """
    python = interpreter.of_command(command) if command else interpreter.default()
    found = [
        *checks.of_python(interpreter.ask(python, imports_torch=imports_torch)),
        checks.of_endpoint(),
        *checks.of_stores(store),
        checks.of_versions(),
    ]
    is_well = all(check.status != "wrong" for check in found)
    if as_json:
        click.echo(json.dumps({"ok": is_well, "checks": [asdict(check) for check in found]}, indent=2))
    else:
        _print(found)
    return Exit.DONE if is_well else Exit.CHECK_FAILED


def _print(found: list[checks.Check]) -> None:
    screen = console()
    width = max(len(check.name) for check in found)
    indent = width + 9 if screen.width >= _WIDE else 7
    for check in found:
        line = Text.assemble((f"{check.status:<5}", _STYLES[check.status]), f"  {check.name:<{width}}  ")
        line.append(plain(check.message))
        print_line(screen, line, indent=indent)
        if check.hint:
            print_line(screen, f"{'':<{indent}}{plain(check.hint)}", indent=indent, style="dim")
