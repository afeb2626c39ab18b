"""Whether the virtual environment of each arm can record: it needs this package, in this version."""

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
    """Check the `.venv` of each arm whose programs the command uses.

    Raises:
        BadInputError: one lacks this package or has another version of it.
    """
    for name, place in places.items():
        python = place.venv / "bin" / "python"
        if not _uses(place, command) or not python.exists():
            continue
        found = _installed(python)
        if found != __version__:
            has = f"has version {found} of {PACKAGE}, and this is {__version__}" if found else f"lacks {PACKAGE}"
            raise BadInputError(f"the {name} can't be recorded: {place.venv} {has}; to mend that: {_mend(python)}")


def _uses(place: Place, command: Sequence[str]) -> bool:
    """Tell whether a command is a program of the arm's own environment."""
    program = command[0]
    if os.sep in program:
        found = str(place.directory / program)
    else:
        found = shutil.which(program, path=place.environment().get("PATH")) or ""
    return Path(os.path.normpath(found)).parent == place.venv / "bin"


def _installed(python: Path) -> str:
    """Return the version of this package that an interpreter finds; "" for none."""
    # Neither the directory that we are in nor our variables say what is installed there.
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


def _mend(python: Path) -> str:
    """Return the command that installs this package, from where it was installed here."""
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
