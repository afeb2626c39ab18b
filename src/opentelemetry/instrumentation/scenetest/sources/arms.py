"""The repetitions of the arms of a comparison: from runs in a store, or from a Jaeger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.sources import runs, stores

TYPE_CHECKING = False
if TYPE_CHECKING:
    # numpy and scipy come with it: no other command waits for that.
    from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import Repetition

JAEGER_VARIABLE = "SCENETEST_OTEL_JAEGER"
"""The environment variable with the address of Jaeger's user interface."""

_JAEGER = "jaeger:"


def read_arms(arms: Sequence[Sequence[str]], store: str | None, jaeger: str | None) -> list[list[Repetition]]:
    """Read the runs of one arm or two.

    Args:
        arms: what the user calls the runs of each.
        store: the store to look in; None for the usual ones.
        jaeger: the address of a Jaeger.

    Raises:
        BadInputError: there is no such run, it can't be read, or it is in both arms.
    """
    paths = [_paths(arm, store) for arm in arms]
    names = [path.name for path in {path for of_arm in paths for path in of_arm}]
    unique = len(names) == len(set(names))
    found = [
        [*read(of_arm, by_path=not unique), *_from_jaeger(arm, jaeger)] for of_arm, arm in zip(paths, arms, strict=True)
    ]
    return _apart(*found) if len(found) > 1 else found


def read(directories: Sequence[Path], *, by_path: bool = False) -> list[Repetition]:
    """Return what runs measured.

    Args:
        directories: the run directories.
        by_path: call each by its whole path: their names are not unique.

    Raises:
        BadInputError: one can't be read.
    """
    from opentelemetry.instrumentation.scenetest.sources import repetitions

    labels = [str(path) if by_path else path.name for path in directories]
    return [
        repetition
        for path, label in zip(directories, labels, strict=True)
        for repetition in repetitions.of_run(runs.load(path), label)
    ]


def _paths(arm: Sequence[str], store: str | None) -> list[Path]:
    stored = (word for word in arm if not word.startswith(_JAEGER))
    return list(dict.fromkeys(path.resolve() for word in stored for path in stores.find_all(word, store)))


def _from_jaeger(arm: Sequence[str], url: str | None) -> list[Repetition]:
    from opentelemetry.instrumentation.scenetest.sources import jaeger

    asked = [word for word in arm if word.startswith(_JAEGER)]
    if asked and not url:
        raise BadInputError(f"{asked[0]} needs a Jaeger: give its address with --jaeger or {JAEGER_VARIABLE}")
    return [one for word in asked for one in jaeger.read(word.removeprefix(_JAEGER), url or "")]


def _apart(base: list[Repetition], measure: list[Repetition]) -> list[list[Repetition]]:
    """Make sure that no process is in both arms, and that no two runs of them are called alike.

    Raises:
        BadInputError: a process is in both.
    """
    known = {(one.pid, one.rounds[0].start_ns) for one in base}
    for one in measure:
        if (one.pid, one.rounds[0].start_ns) in known:
            raise BadInputError(f"{one.run} is in both arms; a run can be compared with others only")
    alike = {one.run for one in base} & {one.run for one in measure}
    return [
        [replace(one, run=f"{one.run} ({name})") if one.run in alike else one for one in arm]
        for name, arm in (("base", base), ("measure", measure))
    ]
