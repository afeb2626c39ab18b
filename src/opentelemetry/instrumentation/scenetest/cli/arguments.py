"""Arguments that several commands share: a stored run with shell completion, and the store and name of a new run."""

from __future__ import annotations

import os

import click
from click.shell_completion import CompletionItem

from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.rundir import layout
from opentelemetry.instrumentation.scenetest.sources import stores


def complete_runs(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of stored runs with this prefix, the newest first. Without a match, leave it to the shell."""
    try:
        runs = stores.all_runs(context.params.get("store"))
    except (OSError, BadInputError):
        return []
    names = dict.fromkeys(name for run in reversed(runs) for name in sorted(stores.names_of(run)))
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def check_name(name: str | None) -> None:
    """Check that a name can be the name of a new run, and so of its directory.

    Raises:
        BadInputError: it can't.
    """
    if name is not None and (os.sep in name or "\0" in name or name in ("", ".", "..")):
        raise BadInputError(
            f"--name {name!r} can't be used: it names a directory, so no {os.sep!r}, and not '', '.' or '..'"
        )


def no_run_in(store: str, error: OSError) -> BadInputError:
    """Return the error for a store in which no run can be created."""
    hint = f"name a directory that can be written, by --dir or {layout.STORE_VARIABLE}"
    return BadInputError(f"no run can be made in {store!r} ({error.strerror}): {hint}")
