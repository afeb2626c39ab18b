"""Finds out which Python a command starts, and runs the probe of `doctor` in it."""

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
"""The second line of a script whose interpreter path is too long for a `#!` line, as installers write it."""
_TIMEOUT = 120
"""Seconds to wait for the probe. With a cold disk cache, an import of torch can take that long."""


def of_command(command: Sequence[str]) -> list[str]:
    """Return the Python that a command starts, with those of its options that affect imports at startup.

    Raises:
        BadInputError: the command doesn't exist, or is neither Python nor a Python script.
    """
    program = shutil.which(command[0])
    if program is None:
        raise BadInputError(f"{command[0]!r} is not a command: give one that is on PATH, or a path")
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
            f"the file of {command[0]!r} doesn't show which Python it starts: name that Python, "
            "as in scenetest-otel doctor -- /path/to/python"
        )
    return [found, *(word for word in named[1:] if _FLAGS.fullmatch(word))]


def default() -> list[str]:
    """Return the Python on PATH, which most commands start.

    Raises:
        BadInputError: there is none.
    """
    return of_command(["python" if shutil.which("python") else "python3"])


def ask(python: Sequence[str], *, imports_torch: bool) -> dict[str, Any]:
    """Start a Python as a process of a run, and return the answers of `entrypoints/probe.py`.

    Args:
        python: the Python and its options.
        imports_torch: whether to import torch, which also loads the backends that autoload loads.

    Raises:
        BadInputError: it doesn't answer.
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
                timeout=_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise BadInputError(f"{python[0]} did not answer within {_TIMEOUT} s") from None
        except OSError as error:
            raise BadInputError(f"{python[0]} can't be executed: {error.strerror}") from None
        if not answers.exists():
            last = _last_line(done.stderr)
            raise BadInputError(f"{python[0]} did not answer; it ended with {done.returncode} and printed: {last}")
        return json.loads(answers.read_bytes())


def _launched() -> dict[str, str]:
    """Return the environment that this program was started with. A .pth or sitecustomize may have changed it since."""
    try:
        entries = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return dict(os.environ)
    pairs = (entry.partition(b"=") for entry in entries if b"=" in entry)
    return {os.fsdecode(key): os.fsdecode(value) for key, _, value in pairs}


def _last_line(output: bytes) -> str:
    """Return the last line of a program's output, which usually holds the error message."""
    return next((line for line in reversed(output.decode("utf-8", "backslashreplace").splitlines()) if line), "")


def _in_script(script: Path) -> list[str]:
    """Return the interpreter in the first lines of a script, with its arguments; empty if there is none."""
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
