"""Describes the rulers of runs: what they have in common, and a table of the differences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from opentelemetry.instrumentation.scenetest.analyse import contamination
from opentelemetry.instrumentation.scenetest.analyse.compare.comparison import BUILD, REVISION, Comparison
from opentelemetry.instrumentation.scenetest.analyse.compare.concurrency import CONCURRENCY
from opentelemetry.instrumentation.scenetest.analyse.compare.gate import EXTRA, Difference, Recorded
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm
from opentelemetry.instrumentation.scenetest.conditions.harness import VARIABLES, raw_attribute
from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS
from opentelemetry.instrumentation.scenetest.conditions.values import Value

_SHORT_ID = 8
_NUMBERED = re.compile(r"(.*?)(\d+)$")

SETTING = "torch.backend_autoload.setting"
SHOWN_WITH: Mapping[str, str] = {
    "torch.backend_autoload.effective": SETTING,
    "torch.backend_autoload.outcome": "torch.backend_autoload.backends",
    "torch_npu.loaded": "torch_npu.loaded_by",
    **{variable.attribute: raw_attribute(variable.name) for variable in VARIABLES},
}
"""Attributes that are shown with a compared, effective value: the raw value, or its origin."""


def worded(value: Value | None) -> str:
    """Return a value as text for readers."""
    if value is None:
        return "n/a"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value) or "none"


def columns(
    comparison: Comparison, differences: Sequence[Difference], *, by_arm: bool = False
) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return a table of differing conditions.

    Args:
        comparison: the comparison.
        differences: the conditions.
        by_arm: whether the columns are arms instead of groups of runs.

    Returns:
        The titles of the columns, and the values for each condition. Runs with the same values share a column.
    """
    return _side_by_side(_arms(comparison) if by_arm else comparison.recorded, [one.attribute for one in differences])


def ruler_columns(comparison: Comparison) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return a table of all conditions of the ruler. Runs with the same values share a column."""
    return _side_by_side(comparison.recorded, _seen(comparison, "ruler"))


def context_columns(comparison: Comparison) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return a table of all context, by arm, because context such as a device id may differ in every run."""
    return _side_by_side(_arms(comparison), _seen(comparison, "context"))


def _seen(comparison: Comparison, use: str) -> list[str]:
    seen = {key for conditions in comparison.recorded.values() for one in conditions for key in one}
    found = [key for key, condition in CONDITIONS.items() if key in seen and condition.use == use]
    return [*found, *(key for key in EXTRA if key in seen)] if use == "ruler" else found


def _side_by_side(recorded: Recorded, attributes: Sequence[str]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    cells = {run: tuple(_cell(recorded[run], attribute) for attribute in attributes) for run in recorded}
    distinct = list(dict.fromkeys(cells.values()))
    titles = [_title([run for run, values in cells.items() if values == column]) for column in distinct]
    return titles, [(attribute, [column[i] for column in distinct]) for i, attribute in enumerate(attributes)]


def summary(comparison: Comparison) -> str:
    """Return the main conditions in one line: number of processes, autoload, log level, golden, stderr, build."""
    every = [conditions for of_run in comparison.recorded.values() for conditions in of_run]
    words = [f"autoload {_cell(every, 'torch.backend_autoload.effective')}"]
    if any("scenetest.log_level" in one for one in every):
        words.append(f"log level {_cell(every, 'scenetest.log_level')}")
    golden = {one.get("scenetest.golden_skipped") for one in every}
    words += ["golden skipped"] if golden == {True} else ["golden computed"] if golden == {False} else []
    words.append(f"stderr {_cell(every, 'scenetest.stderr')}")
    builds = {str(one[BUILD]) for one in every if BUILD in one}
    revisions = {one.get(REVISION) for one in every}
    if len(builds) == 1 and len(revisions) == 1:
        ids = sorted({build.partition("=")[2][:_SHORT_ID] for build in builds.pop().split(",")})
        words.append(f"native build {' '.join(ids)}")
    processes = comparison.processes
    return f"{processes} process{'' if processes == 1 else 'es'}: {', '.join(words)}"


def stamps(comparison: Comparison) -> Iterable[str]:
    """Yield a sentence for each allowed difference. They must be shown with every number."""
    if comparison.gate.allowed:
        titles, rows = columns(comparison, comparison.gate.allowed)
        for attribute, values in rows:
            beside = ", ".join(f"{title} {value}" for title, value in zip(titles, values, strict=True))
            yield f"ALLOWED TO DIFFER  {attribute}: {beside}"
    if comparison.gate.accepts_not_recorded:
        for run, count in comparison.gate.not_recorded.items():
            yield f"ALLOWED  {run}: {count} conditions of the ruler were not recorded"
    for one in comparison.taken:
        yield f"ALLOWED  {one.run}: {one.key.title}: {one.reason}"
    if comparison.options.accepts_concurrency and not any(
        one.attribute == CONCURRENCY for one in comparison.gate.allowed
    ):
        counts = {one.get(CONCURRENCY) for of_run in comparison.recorded.values() for one in of_run} - {1, None}
        for count in counts:
            yield f"ALLOWED  {count} processes dispatched at the same time"


def _arms(comparison: Comparison) -> Recorded:
    return {arm.value: [one for run in comparison.runs[arm] for one in comparison.recorded.get(run, ())] for arm in Arm}


def _cell(conditions: Sequence[Mapping[str, Value]], attribute: str) -> str:
    return ", ".join(sorted({_value(one, attribute) for one in conditions})) or "no round"


def _value(conditions: Mapping[str, Value], attribute: str) -> str:
    value, beside = worded(conditions.get(attribute)), SHOWN_WITH.get(attribute, "")
    if beside not in conditions:
        return value
    return f"{value} ({contamination.setting(conditions) if beside == SETTING else worded(conditions[beside])})"


def _title(runs: Sequence[str]) -> str:
    """Return the names of runs. Names with consecutive numbers are joined: base-1..6."""
    stems: dict[str, list[str]] = {}
    for run in runs:
        match = _NUMBERED.match(run)
        stems.setdefault(match[1] if match else run, []).append(match[2] if match else "")
    return ", ".join(_numbered(stem, numbers) for stem, numbers in stems.items())


def _numbered(stem: str, numbers: Sequence[str]) -> str:
    ordered = sorted(int(number) for number in numbers if number)
    if len(ordered) > 1 and ordered == list(range(ordered[0], ordered[0] + len(ordered))):
        return f"{stem}{ordered[0]}..{ordered[-1]}"
    return ", ".join(f"{stem}{number}" for number in numbers)
