"""Renders the tables of the reference pages from the code.

Prose is written by hand. Text between `<!-- table NAME -->` and `<!-- end -->` is rendered. With --check nothing is
written, and a page that is out of date is an error.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click
import docs_matrix
from docs_tables import CASE_AND_DISPATCH, ENVIRONMENT, EXIT_CODES, NATIVE, RESOURCE, Row

from opentelemetry.instrumentation.scenetest.analyse.passes import COLUMNS
from opentelemetry.instrumentation.scenetest.cli import COMMANDS
from opentelemetry.instrumentation.scenetest.cli import main as program
from opentelemetry.instrumentation.scenetest.cli.ending import PROGRAM
from opentelemetry.instrumentation.scenetest.conditions.condition import Condition
from opentelemetry.instrumentation.scenetest.conditions.groups import GROUPS
from opentelemetry.instrumentation.scenetest.conditions.harness import READ_BY_NOTHING, VARIABLES, raw_attribute
from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS
from opentelemetry.instrumentation.scenetest.exits import Exit

PAGES = Path(__file__).resolve().parent.parent / "docs"
_MARKED = re.compile(r"(<!-- table (?P<name>[\w -]+) -->\n).*?(<!-- end -->)", re.DOTALL)


_CODE_OR_SPECIAL = re.compile(r"(`[^`]*`)|([*_|<])")


def table(head: Sequence[str], rows: Iterable[Row]) -> str:
    """Return a Markdown table. Special characters outside of code spans are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(_escaped, line))} |\n" for line in lines)


def _escaped(cell: str) -> str:
    return _CODE_OR_SPECIAL.sub(lambda found: found[1] or f"\\{found[2]}", cell)


def code(name: str) -> str:
    """Return a name as Markdown."""
    return f"`{name}`"


def _group(condition: Condition) -> str:
    if condition.scope == "case":
        return "case"
    if condition.attribute.startswith(("scenetest.env.", "process.environment_variable.")):
        return "variables"
    return "torch" if condition.attribute.startswith("torch") else "process"


_TYPES = {str: "text", bool: "true or false", int: "integer", float: "number"}


def _conditions(group: str) -> str:
    rows = [
        (code(one.attribute), f"{one.use}, {_TYPES[one.type]}", one.meaning, one.observed)
        for one in CONDITIONS.values()
        if _group(one) == group
    ]
    return table(("attribute", "use, type", "value", "observed"), rows)


def _variables() -> str:
    rows = [(code(one.name), one.rule, code(one.attribute), code(raw_attribute(one.name))) for one in VARIABLES]
    return table(("variable", "effective value", "ruler condition", "shown as it is set"), rows)


def _read_by_nothing() -> str:
    return table(
        ("variable", "shown as it is set"), [(code(name), code(raw_attribute(name))) for name in READ_BY_NOTHING]
    )


def _figures() -> str:
    rows = [(name, " + ".join(map(code, spans))) for name, spans in COLUMNS.items()]
    return table(("figure", "spans of one pass"), rows)


def _exit_codes() -> str:
    return table(("code", "meaning"), [(str(code.value), EXIT_CODES[code.name]) for code in Exit])


def _command(name: str) -> str:
    """Return usage, help and options of a command, as `--help` has them."""
    program_context = click.Context(program)
    command: click.Command = program
    for word in name.split():
        assert isinstance(command, click.Group)
        found = command.get_command(program_context, word)
        assert found is not None
        command = found
    context = click.Context(command, program_context, name)
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    arguments = [one.make_metavar(context) for one in command.params if not isinstance(one, click.Option)]
    usage = " ".join([PROGRAM, name, *(_optional(one, context) for one in options), *arguments])
    rows = [(code(", ".join(one.opts) + _value(one, context)), _meaning(one)) for one in options]
    return f"    {usage}\n\n{inspect.cleandoc(command.help or '')}\n\n{table(('option', 'meaning'), rows)}"


def _optional(option: click.Option, context: click.Context) -> str:
    text = option.opts[-1] + _value(option, context)
    return text if option.required else f"[{text}]"


def _value(option: click.Option, context: click.Context) -> str:
    """Return the placeholder for the value of an option. click would print a type."""
    if option.is_flag:
        return ""
    if isinstance(option.type, click.Choice):
        return f" {option.opts[-1].lstrip('-').upper()}"
    spelled_out = option.metavar is None and option.type.name.endswith("range")
    return " NUMBER" if spelled_out else f" {option.make_metavar(context)}"


def _meaning(option: click.Option) -> str:
    words = option.help or ""
    if isinstance(option.type, click.Choice):
        words = f"{words.rstrip('.')}: {', '.join(map(code, option.type.choices))}."
    return f"{words} Default: {option.default}." if option.show_default else words


def _named(head: Sequence[str], rows: Sequence[Row]) -> Callable[[], str]:
    return lambda: table(head, [(code(row[0]), *row[1:]) for row in rows])


TABLES: dict[str, Callable[[], str]] = {
    **{
        f"conditions {group}": lambda group=group: _conditions(group)
        for group in ("torch", "process", "variables", "case")
    },
    **{
        f"autoload {group}": lambda group=group: table(docs_matrix.HEAD, docs_matrix.cells(group))
        for group in docs_matrix.GROUPS
    },
    "autoload releases": lambda: table(docs_matrix.HEAD_OF_RELEASES, docs_matrix.releases()),
    "autoload processes": lambda: table(docs_matrix.HEAD_OF_PROCESSES, docs_matrix.processes()),
    "harness variables": _variables,
    "read by nothing": _read_by_nothing,
    "figures": _figures,
    "exit codes": _exit_codes,
    "allow groups": lambda: table(
        ("`--allow`", "accepts differences in"), [(code(name), group.meaning) for name, group in GROUPS.items()]
    ),
    **{f"command {name}": lambda name=name: _command(name) for name in (*COMMANDS, "runs rm")},
    "span attributes": _named(("attribute", "on", "value"), CASE_AND_DISPATCH),
    "native attributes": _named(("attribute", "value"), NATIVE),
    "resource attributes": _named(("attribute", "value"), RESOURCE),
    "environment": _named(("variable", "meaning"), ENVIRONMENT),
}


def rendered(page: str) -> str:
    """Return a page with its tables rendered again.

    Raises:
        KeyError: the page names an unknown table.
    """
    return _MARKED.sub(lambda found: f"{found[1]}\n{TABLES[found['name']]()}\n{found[3]}", page)


def main() -> None:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is out of date")
    check = parser.parse_args().check
    stale: list[str] = []
    for path in sorted(PAGES.rglob("*.md")):
        page = path.read_text("utf-8")
        if page != (new := rendered(page)):
            stale.append(str(path.relative_to(PAGES.parent)))
            if not check:
                path.write_text(new, "utf-8")
    if check and stale:
        sys.exit(f"{', '.join(stale)}: out of date; write the tables anew with: make reference")


if __name__ == "__main__":
    main()
