"""Checks that each arm can run and record the command: its `.venv` needs this package in this version."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shlex import quote
from urllib.parse import unquote, urlsplit

from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.runner.arms import Place
from opentelemetry.instrumentation.scenetest.version import __version__

PACKAGE = "opentelemetry-instrumentation-scenetest"
_ASK = f"""
from importlib.metadata import PackageNotFoundError, version
try:
    print(version({PACKAGE!r}))
except PackageNotFoundError:
    print()
"""
_SECONDS = 60


def check(places: Mapping[str, Place], command: Sequence[str]) -> None:
    """Check that each arm has the command, and that the `.venv` that provides it has this package.

    Raises:
        BadInputError: an arm lacks the command, or its `.venv` lacks this package in this version.
    """
    for name, place in places.items():
        program = _program(place, command)
        if program is None:
            where = f"in {place.directory}" if os.sep in command[0] else "on its PATH"
            why = f"no such program {where}, or it is not executable"
            raise BadInputError(f"the {name} can't run {command[0]!r}: {why}")
        python = place.venv / "bin" / "python"
        if program.parent != place.venv / "bin" or not python.exists():
            continue
        found = _installed(python)
        if found != __version__:
            has = f"has version {found} of {PACKAGE}, and this is {__version__}" if found else f"lacks {PACKAGE}"
            raise BadInputError(f"the {name} can't be recorded: {place.venv} {has}; to fix that: {_fix(python)}")


def _program(place: Place, command: Sequence[str]) -> Path | None:
    """Return the executable file of a command in an arm; None if there is none."""
    program = str(place.directory / command[0]) if os.sep in command[0] else command[0]
    found = shutil.which(program, path=place.environment().get("PATH"))
    return Path(os.path.normpath(place.directory / found)) if found else None


def _installed(python: Path) -> str:
    """Return the version of this package that an interpreter has installed; "" if none."""
    # Our working directory and variables must not influence the answer.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SCENETEST_"))}
    try:
        done = subprocess.run(
            [str(python), "-I", "-c", _ASK],
            cwd="/",
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BadInputError(f"{python} can't be asked for its packages: {error}") from None
    return done.stdout.strip()


def _fix(python: Path) -> str:
    """Return the command that installs this package, from the same source as here."""
    if python.with_name("pip").exists():
        install = f"{quote(str(python))} -m pip install"
    else:
        install = f"uv pip install --python {quote(str(python))}"
    return f"{install} {quote(_source())}"


def _source() -> str:
    try:
        url: str = json.loads(distribution(PACKAGE).read_text("direct_url.json") or "{}").get("url", "")
    except (PackageNotFoundError, ValueError):
        url = ""
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" else url or f"{PACKAGE}=={__version__}"
