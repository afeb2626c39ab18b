"""Which Python a command starts, and what that Python says of itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opentelemetry.instrumentation.scenetest import destination
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.rundir import layout, run_file

PROBE = Path(__file__).resolve().parents[1] / "entrypoints" / "probe.py"

_PYTHON = re.compile(r"python(\d+(\.\d+)*)?")
_FLAGS = re.compile(r"-[bBdEiIOPqRsSuvx]+")
_EXEC = re.compile(rb"""^'''exec' (?:"([^"]+)"|(\S+))""", re.MULTILINE)
"""How installers begin a script where the path of its interpreter is too long for a `#!` line."""
_PATIENCE = 120
"""Seconds for the answer: an import of torch takes that long on a cold disk."""


def of_command(command: Sequence[str]) -> list[str]:
    """Return the Python that a command starts, with those of its options that decide what is imported at startup.

    Raises:
        BadInputError: the command is not there, or it is no Python and no script of one.
    """
    program = shutil.which(command[0])
    if program is None:
        raise BadInputError(f"{command[0]!r} is no command: name one that is on PATH, or a path")
    if _PYTHON.fullmatch(os.path.basename(program)):
        flags: list[str] = []
        for word in command[1:]:
            if not _FLAGS.fullmatch(word):
                break
            flags.append(word)
        return [program, *flags]
    named = _in_script(Path(program))
    found = shutil.which(named[0]) if named else None
    if found is None or not _PYTHON.fullmatch(os.path.basename(found)):
        raise BadInputError(
            f"which Python {command[0]!r} starts can't be told from its file: name that Python, "
            "as in scenetest-otel doctor -- /path/to/python"
        )
    return [found, *(word for word in named[1:] if _FLAGS.fullmatch(word))]


def default() -> list[str]:
    """Return the Python that most commands start: the one on PATH.

    Raises:
        BadInputError: there is none.
    """
    return of_command(["python" if shutil.which("python") else "python3"])


def ask(python: Sequence[str], *, imports_torch: bool) -> dict[str, Any]:
    """Return what a Python says of itself when it is started as a process of a run.

    Args:
        python: the Python and its options.
        imports_torch: whether it is to import torch, and so to load the backends that autoload loads.

    Raises:
        BadInputError: it does not answer.
    """
    with tempfile.TemporaryDirectory(prefix="scenetest-doctor-") as store:
        run = run_file.make_run(store, by="doctor", command=python, name="doctor")
        answers = Path(store, "answers.json")
        kept = {key: value for key, value in _launched().items() if key not in destination.ENDPOINT_VARIABLES}
        command = [*python, "-c", PROBE.read_text("utf-8"), str(answers), *(["import"] if imports_torch else [])]
        try:
            done = subprocess.run(
                command,
                env={**kept, layout.RUN_VARIABLE: run},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise BadInputError(f"{python[0]} did not answer within {_PATIENCE} s") from None
        except OSError as error:
            raise BadInputError(f"{python[0]} can't be executed: {error.strerror}") from None
        if not answers.exists():
            said = _last_line(done.stderr)
            raise BadInputError(f"{python[0]} did not answer; it ended with {done.returncode} and said: {said}")
        return json.loads(answers.read_bytes())


def _launched() -> dict[str, str]:
    """Return the environment that this program was started with: what Python reads at startup may have changed it."""
    try:
        entries = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return dict(os.environ)
    pairs = (entry.partition(b"=") for entry in entries if b"=" in entry)
    return {os.fsdecode(key): os.fsdecode(value) for key, _, value in pairs}


def _last_line(output: bytes) -> str:
    """Return the last line of what a program printed, where it says why it failed."""
    return next((line for line in reversed(output.decode("utf-8", "backslashreplace").splitlines()) if line), "")


def _in_script(script: Path) -> list[str]:
    """Return the words of the interpreter that a script names; none where it names none."""
    try:
        with script.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return []
    if not head.startswith(b"#!"):
        return []
    words = os.fsdecode(head[2:].splitlines()[0]).split()
    if found := _EXEC.search(head):
        return [os.fsdecode(found[1] or found[2])]
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words
