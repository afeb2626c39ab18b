"""`scenetest-otel runs`: lists the stored runs, and removes some."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from time import time
from typing import Literal, TypeAlias

import click
from rich.text import Text

from opentelemetry.instrumentation.scenetest.analyse import contamination
from opentelemetry.instrumentation.scenetest.cli.arguments import complete_runs
from opentelemetry.instrumentation.scenetest.conditions.values import UNKNOWN
from opentelemetry.instrumentation.scenetest.errors import BadInputError, Failure
from opentelemetry.instrumentation.scenetest.exits import Exit
from opentelemetry.instrumentation.scenetest.render.folding import TableRow, print_table
from opentelemetry.instrumentation.scenetest.render.plain import plain
from opentelemetry.instrumentation.scenetest.render.plain_console import console
from opentelemetry.instrumentation.scenetest.rundir import delivery_state, layout, run_file
from opentelemetry.instrumentation.scenetest.sources import runs as source
from opentelemetry.instrumentation.scenetest.sources import stores

Verdict: TypeAlias = "contamination.Word | Literal['EMPTY']"

_UNITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3}
_PERIODS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


@dataclass(frozen=True)
class ListedRun:
    """One stored run in the list.

    Attributes:
        name: name of its directory, which the commands accept.
        started: start time in ISO 8601; None if it was not recorded.
        verdict: the verdict of `show`; `EMPTY` if nothing was recorded.
        ruler: the ruler of its dispatches, `unknown`, or the number of rulers.
        cases: number of recorded cases.
        outcome: exit code of the command, `running`, or `-` if it is unknown.
        delivered: whether a backend has accepted all spans.
        bytes: size of its files in bytes.
        path: its directory.
    """

    name: str
    started: str | None
    verdict: Verdict
    ruler: str
    cases: int
    outcome: str
    delivered: bool
    bytes: int
    path: str


@click.group(invoke_without_command=True)
@click.option("--dir", "store", metavar="DIR", help="List this store only.")
@click.option("-n", "count", type=click.IntRange(0), default=20, show_default=True, help="Number of runs; 0 for all.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@click.pass_context
def runs(context: click.Context, store: str | None, count: int, as_json: bool) -> None:
    """List the stored runs, the newest first. `runs rm` removes some."""
    if context.invoked_subcommand is not None:
        context.obj = store
        return
    stored = stores.all_runs(store)[::-1]
    shown = [_row(directory) for directory in (stored[:count] if count else stored)]
    if as_json:
        click.echo(json.dumps([asdict(row) for row in shown], indent=2))
        return
    if not stored:
        places = ", ".join(map(str, stores.stores(store)))
        click.echo(f"no run is stored in {places}; record one with: scenetest-otel run -- CMD...")
        return
    _print(shown)
    if len(stored) > len(shown):
        click.echo(f"{len(stored) - len(shown)} older: scenetest-otel runs -n 0")


@runs.command()
@click.argument("names", metavar="[RUN]...", nargs=-1, shell_complete=complete_runs)
@click.option("--dir", "store", metavar="DIR", help="Look for runs in this store only.")
@click.option("--older-than", "age", metavar="AGE", help="Only runs that began longer ago, such as 12h, 30d or 8w.")
@click.option("--larger-than", "size", metavar="SIZE", help="Only runs with larger files, such as 500K, 20M or 1G.")
@click.option("--undelivered", is_flag=True, help="Also remove runs that are not delivered.")
@click.option("--dry-run", is_flag=True, help="Only print what would be removed.")
@click.pass_obj
def rm(
    outer: str | None,
    names: Sequence[str],
    store: str | None,
    age: str | None,
    size: str | None,
    undelivered: bool,
    dry_run: bool,
) -> None:
    """Remove runs by name, by a glob of names in quotes, by age or by size.

    Runs that are not delivered, or are still being measured, are kept and listed. The exit code is then 6.
    """
    if not names and age is None and size is None:
        raise BadInputError("say which runs: a name, '*', --older-than AGE or --larger-than SIZE")
    store = store or outer
    before = None if age is None else time() - _seconds(age)
    least = None if size is None else _bytes(size)
    named = [one for name in names for one in stores.find_all(name, store)] if names else stores.all_runs(store)
    kept: list[str] = []
    removed = freed = 0
    for directory in dict.fromkeys(named):
        bytes_ = _size(directory)
        if (before is not None and _started(directory) >= before) or (least is not None and bytes_ <= least):
            continue
        if problem := _why_kept(directory, undelivered):
            kept.append(f"{directory.name}: {problem}")
            continue
        if not dry_run:
            _remove(directory)
        click.echo(f"{'would remove' if dry_run else 'removed'} {plain(str(directory))}")
        removed, freed = removed + 1, freed + bytes_
    click.echo(f"{removed} run{'' if removed == 1 else 's'}, {_sized(freed)}")
    if kept:
        raise Failure(f"kept {'; '.join(kept)}", Exit.CHECK_FAILED)


def _why_kept(directory: Path, undelivered: bool) -> str:
    if delivery_state.is_measured(directory):
        return "it is still being measured"
    if not undelivered and any(layout.journals(directory)) and not _is_delivered(directory):
        return "no backend has accepted all of it; deliver it with push, or remove it with --undelivered"
    return ""


def _remove(directory: Path) -> None:
    if directory.is_symlink():
        raise BadInputError(f"{str(directory)!r} is a symbolic link to a run: remove its target")
    try:
        with delivery_state.DeliveryRole(directory, layout.DELIVERY_LOCK) as role:
            if not role.held:
                raise Failure(f"{directory.name} is being delivered: try again later", Exit.CHECK_FAILED)
            shutil.rmtree(directory)
    except OSError as error:
        raise BadInputError(f"{str(directory)!r} can't be removed: {error.strerror}") from error


def _row(directory: Path) -> ListedRun:
    facts = run_file.read(directory)
    started = facts.get("started_unix_ns")
    verdict, rulers, cases = _recorded(directory)
    code = facts.get("exit_code")
    running = delivery_state.is_measured(directory)
    return ListedRun(
        name=directory.name,
        started=datetime.fromtimestamp(started / 1e9, timezone.utc).isoformat() if isinstance(started, int) else None,
        verdict=verdict,
        ruler=next(iter(rulers)) if len(rulers) == 1 else f"{len(rulers)} rulers" if rulers else "-",
        cases=cases,
        outcome="running" if running else "-" if code is None else f"exit {code}",
        delivered=_is_delivered(directory),
        bytes=_size(directory),
        path=str(directory),
    )


def _recorded(directory: Path) -> tuple[Verdict, set[str], int]:
    try:
        run = source.load(directory)
    except BadInputError:
        return "EMPTY", set(), 0
    rulers = {dispatch.ruler or UNKNOWN for process in run.processes for _, dispatch in process.all_dispatches()}
    return contamination.verdict(run).word, rulers, sum(len(process.own_cases()) for process in run.processes)


def _is_delivered(directory: Path) -> bool:
    from opentelemetry.instrumentation.scenetest.deliver import delivery

    return any(layout.journals(directory)) and delivery.is_delivered(directory)


def _started(directory: Path) -> float:
    started = run_file.read(directory).get("started_unix_ns")
    return started / 1e9 if isinstance(started, int) else directory.stat().st_mtime


def _size(directory: Path) -> int:
    return sum(size for path in directory.rglob("*") for size in _file_size(path))


def _file_size(path: Path) -> Iterator[int]:
    try:
        yield path.lstat().st_size
    except OSError:  # it was deleted in the meantime
        return


def _print(rows: Sequence[ListedRun]) -> None:
    titles = ("name", "started", "verdict", "ruler", "cases", "outcome", "delivered", "size")
    lines: list[TableRow] = []
    colors = {"good": "green", "bad": "red", "doubtful": "yellow"}
    for row in rows:
        started = datetime.fromisoformat(row.started).astimezone() if row.started else None
        color = "dim" if row.verdict == "EMPTY" else colors[contamination.WORDS[row.verdict]]
        cells = [
            plain(row.name),
            f"{started:%d %b %H:%M}" if started else "-",
            Text(row.verdict, color),
            row.ruler,
            str(row.cases),
            row.outcome,
            "yes" if row.delivered else "no",
            _sized(row.bytes),
        ]
        lines.append(TableRow(cells))
    print_table(console(), titles, lines, numbers=(titles.index("cases"), titles.index("size")))


def _sized(count: int) -> str:
    size = float(count)
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size = round(size / 1000, 1)
    return f"{size:.1f} GB"


def _seconds(age: str) -> float:
    found = re.fullmatch(r"(\d+)([smhdw])", age)
    if not found:
        raise BadInputError(f"--older-than {age!r} is not an age: write a whole number and s, m, h, d or w, as in 30d")
    return int(found[1]) * _PERIODS[found[2]]


def _bytes(size: str) -> int:
    found = re.fullmatch(r"(\d+)([KMG]?)B?", size.upper())
    if not found:
        raise BadInputError(f"--larger-than {size!r} is not a size: write a whole number and K, M or G, as in 20M")
    return int(found[1]) * _UNITS[found[2]]
