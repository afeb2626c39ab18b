"""Writes the file of `-o` atomically: afterwards it is complete, or unchanged."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from opentelemetry.instrumentation.scenetest.errors import BadInputError


@contextmanager
def whole_file(path: Path) -> Generator[IO[str]]:
    """Open a temporary file for writing, and rename it when it is complete.

    A device or a pipe, such as `/dev/stdout`, is written directly.

    Raises:
        BadInputError: the file can't be written.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8") as stream:
                yield stream
            return
        target = Path(os.path.realpath(path))
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with part.open("x", encoding="utf-8") as stream:
                yield stream
            if target.exists():
                part.chmod(target.stat().st_mode & 0o777)
            part.replace(target)
        finally:
            with suppress(OSError):
                part.unlink()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise BadInputError(f"{path} can't be written ({error.strerror}); name another file with -o") from error
