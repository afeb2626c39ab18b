"""What several commands take: a stored run, completed by the shell, and the store and name of a new one."""

from __future__ import annotations

import os

import click
from click.shell_completion import CompletionItem

from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.rundir import layout
from opentelemetry.instrumentation.scenetest.sources import stores


def complete_runs(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of stored runs that begin like this, the newest first; of files, leave the rest to the shell."""
    try:
        runs = stores.all_runs(context.params.get("store"))
    except (OSError, BadInputError):
        return []
    names = dict.fromkeys(name for run in reversed(runs) for name in sorted(stores.names_of(run)))
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def check_name(name: str | None) -> None:
    """Make sure that a name can be that of a new run: a directory is called so.

    Raises:
        BadInputError: it can't.
    """
    if name is not None and (os.sep in name or "\0" in name or name in ("", ".", "..")):
        raise BadInputError(
            f"--name {name!r} can't be used: it names a directory, so no {os.sep!r}, and not '', '.' or '..'"
        )


def no_run_in(store: str, error: OSError) -> BadInputError:
    """Return what to say where no run can be made in a store."""
    way_out = f"name a directory that can be written, by --dir or {layout.STORE_VARIABLE}"
    return BadInputError(f"no run can be made in {store!r} ({error.strerror}): {way_out}")
