"""The repetitions of the arms of a comparison: from runs in a store, or from a Jaeger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from opentelemetry.instrumentation.scenetest.analyse.runs import Run
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.rundir import layout, run_file
from opentelemetry.instrumentation.scenetest.sources import runs, stores

TYPE_CHECKING = False
if TYPE_CHECKING:
    # They import numpy and scipy, which other commands must not wait for.
    from opentelemetry.instrumentation.scenetest.analyse.compare.concurrency import Busy
    from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import Repetition

JAEGER_VARIABLE = "SCENETEST_OTEL_JAEGER"
"""The environment variable with the address of Jaeger's user interface."""

_JAEGER = "jaeger:"
_NANOSECONDS = 10**9


def read_arms(arms: Sequence[Sequence[str]], store: str | None, jaeger: str | None) -> list[list[Repetition]]:
    """Read the runs of one arm or two.

    Args:
        arms: for each arm, the words that the user gave for its runs.
        store: the store to look in. None means the default stores.
        jaeger: the address of a Jaeger.

    Raises:
        BadInputError: there is no such run, it can't be read, or it is in both arms.
    """
    paths = [_paths(arm, store) for arm in arms]
    names = [path.name for path in {path for of_arm in paths for path in of_arm}]
    unique = len(names) == len(set(names))
    together = read_together(paths, by_path=not unique)
    found = [[*stored, *_from_jaeger(arm, jaeger)] for stored, arm in zip(together, arms, strict=True)]
    return _apart(*found) if len(found) > 1 else found


def read(directories: Sequence[Path], *, clocks: dict[str, int] | None = None) -> list[Repetition]:
    """Return the repetitions of runs.

    Args:
        directories: the run directories.
        clocks: see `read_together`.

    Raises:
        BadInputError: a run can't be read.
    """
    return read_together([directories], clocks=clocks)[0]


def read_together(
    arms: Sequence[Sequence[Path]], *, by_path: bool = False, clocks: dict[str, int] | None = None
) -> list[list[Repetition]]:
    """Return what the runs of several arms measured, on one clock.

    Args:
        arms: the run directories of each.
        by_path: call each by its whole path: their names are not unique.
        clocks: by boot of a machine, its wall clock minus its monotonic one. What is found here is added. Whoever reads
            run after run hands over the same one each time: somebody may set the wall clock in between.

    Raises:
        BadInputError: a run can't be read.
    """
    from opentelemetry.instrumentation.scenetest.sources import repetitions

    given = [runs.load(path) for path in chain.from_iterable(arms)]
    others = _beside(given)
    clocks = {} if clocks is None else clocks
    for boot, offset in _clocks([*given, *others]).items():
        clocks.setdefault(boot, offset)
    activity: tuple[Busy, ...] = tuple(
        dict.fromkeys(busy for run in (*given, *others) for busy in repetitions.busy_of(run, clocks))
    )
    given.reverse()
    found: list[list[Repetition]] = []
    for arm in arms:
        found.append([])
        for path in arm:
            run = given.pop()  # a run of a million dispatches is not kept beside its repetitions
            label = str(path) if by_path else path.name
            found[-1] += [replace(one, activity=activity) for one in repetitions.of_run(run, label, clocks)]
    return found


def _clocks(given: Iterable[Run]) -> Mapping[str, int]:
    """Return the wall clock minus the monotonic clock for each boot, as the first process of that boot saw it.

    The wall clock may be set between two runs. The monotonic clock is not affected.
    """
    from opentelemetry.instrumentation.scenetest.sources.repetitions import boot_of

    first: dict[str, tuple[int, int]] = {}
    for process in (process for run in given for process in run.processes):
        boot, anchor = boot_of(process), process.record.facts["anchor"]
        if boot:
            seen = int(anchor["monotonic_ns"]), process.record.unix_ns(0)
            first[boot] = min(first.get(boot, seen), seen)
    return {boot: offset for boot, (_, offset) in first.items()}


def _beside(given: Sequence[Run]) -> list[Run]:
    """Return other runs of the same stores that ran at the same time. They may have disturbed these runs."""
    times = [_lasted(run.path) for run in given]
    known = {run.path.resolve() for run in given}
    found: list[Run] = []
    for store in dict.fromkeys(run.path.resolve().parent for run in given):
        for directory in stores.all_runs(str(store)):
            begin, end = _lasted(directory)
            if directory.resolve() in known or not any(begin < after and before < end for before, after in times):
                continue
            try:
                found.append(runs.load(directory))
            except BadInputError:  # empty or damaged: it is not known when it dispatched
                continue
    return found


def _lasted(directory: Path) -> tuple[float, float]:
    """Return the longest interval in which a run may have written to its journals, in Unix seconds."""
    facts = run_file.read(directory)
    written = [path.stat().st_mtime for path in layout.journals(directory) if path.exists()]
    began, ended = facts.get("started_unix_ns"), facts.get("ended_unix_ns")
    last = max([*written, (ended or 0) / _NANOSECONDS])
    first = began / _NANOSECONDS if began else min(written, default=0.0) - _LONGEST
    return first, max(first, last)


_LONGEST = 24 * 3600.0
"""The longest time, in seconds, that a run without a start time is assumed to have lasted."""


def _paths(arm: Sequence[str], store: str | None) -> list[Path]:
    stored = (word for word in arm if not word.startswith(_JAEGER))
    return list(dict.fromkeys(path.resolve() for word in stored for path in stores.find_all(word, store)))


def _from_jaeger(arm: Sequence[str], url: str | None) -> list[Repetition]:
    asked = [word for word in arm if word.startswith(_JAEGER)]
    if not asked:
        return []
    if not url:
        raise BadInputError(f"{asked[0]} needs a Jaeger: give its address with --jaeger or {JAEGER_VARIABLE}")
    from opentelemetry.instrumentation.scenetest.sources import jaeger

    return [one for word in asked for one in jaeger.read(word.removeprefix(_JAEGER), url)]


def _apart(base: list[Repetition], measure: list[Repetition]) -> list[list[Repetition]]:
    """Check that no process is in both arms, and give runs with the same name different names.

    Raises:
        BadInputError: a process is in both arms.
    """
    known = {one.id: one.run for one in base}
    for one in measure:
        if one.id in known:
            copy = "" if one.run == known[one.id] else f" (as {known[one.id]} in the base)"
            raise BadInputError(f"{one.run}{copy} is in both arms; a run can be compared with others only")
    alike = {one.run for one in base} & {one.run for one in measure}
    return [
        [replace(one, run=f"{one.run} ({name})") if one.run in alike else one for one in arm]
        for name, arm in (("base", base), ("measure", measure))
    ]
