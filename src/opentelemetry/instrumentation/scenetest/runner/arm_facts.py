"""The facts that identify an arm. Each run records them, so that `--resume` continues only with the same arms."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from opentelemetry.instrumentation.scenetest import masking
from opentelemetry.instrumentation.scenetest.runner.arms import Place

_SECONDS = 60
_SHORT = 12
_VARIABLE = "variable "


def facts_of(name: str, place: Place, setup: str | None) -> dict[str, str]:
    """Return the facts that identify an arm.

    Args:
        name: the name of the arm.
        place: where it runs.
        setup: the command that prepares its worktree, if any.
    """
    facts = {"name": name}
    if place.revision:
        # The path of the worktree is left out, because it is new each time.
        facts |= {"revision": place.revision, "directory": place.inside}
        facts |= {"setup": _masked(setup)} if setup is not None else {}
    else:
        facts |= {"directory": str(place.directory), **_checkout(place.directory)}
    return {**facts, **{f"{_VARIABLE}{key}": _masked(f"{key}={value}") for key, value in place.variables.items()}}


def difference(before: Mapping[str, object], now: Mapping[str, object]) -> str:
    """Return how an arm has changed, as the end of a sentence; "" if it hasn't."""
    return next(_differences(before, now), "")


def _differences(before: Mapping[str, object], now: Mapping[str, object]) -> Iterator[str]:
    for key in dict.fromkeys([*before, *now]):
        old, new = before.get(key), now.get(key)
        if old == new:
            continue
        if key.startswith(_VARIABLE):
            without = f"without {key.removeprefix(_VARIABLE)}"
            yield f"ran {f'with {old}' if old else without}, and now it is {new or without}"
        elif key == "uncommitted":
            yield "ran with other uncommitted changes than there are now"
        elif key == "setup":
            yield f"was prepared by {old!r}, and now it is {new!r}" if old and new else "was prepared in another way"
        elif key == "revision":
            yield f"ran at {_revision(old)}, and now it is {_revision(new)}"
        else:
            yield f"ran in {old or 'no directory'}, and now it is {new or 'none'}"


def _revision(recorded: object) -> str:
    return f"revision {str(recorded)[:_SHORT]}" if recorded else "no revision"


def _checkout(directory: Path) -> Mapping[str, str]:
    """Return the commit of a checkout and a hash of its uncommitted changes; empty if git can't tell."""
    commit = _git(directory, "rev-parse", "--verify", "--quiet", "HEAD")
    changes = _git(directory, "diff", "--no-ext-diff", "--no-textconv", "--binary", "HEAD")
    if not commit or changes is None:
        return {}
    uncommitted = {"uncommitted": sha256(changes).hexdigest()[:_SHORT]} if changes else {}
    return {"revision": commit.decode("ascii", "replace").strip(), **uncommitted}


def _git(directory: Path, *arguments: str) -> bytes | None:
    try:
        return subprocess.run(
            ["git", "-C", str(directory), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=_SECONDS,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None


def _masked(text: str) -> str:
    return masking.masked([text])[0]
