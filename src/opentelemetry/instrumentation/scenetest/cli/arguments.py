"""What several commands take: the argument RUN, completed by the shell with the names of stored runs."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from opentelemetry.instrumentation.scenetest.errors import BadInputError
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
