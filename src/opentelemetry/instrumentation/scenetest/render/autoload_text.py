"""Renders the cost of torch's backend autoload, in one line per case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median

from opentelemetry.instrumentation.scenetest.analyse.compare.comparison import Comparison
from opentelemetry.instrumentation.scenetest.analyse.compare.rows import CaseRows, Row
from opentelemetry.instrumentation.scenetest.analyse.stats.order import Arm
from opentelemetry.instrumentation.scenetest.analyse.stats.verdict import Verdict
from opentelemetry.instrumentation.scenetest.conditions.values import Value
from opentelemetry.instrumentation.scenetest.render import wording

DURATION = "torch.backend_autoload.duration"
OUTCOME = "torch.backend_autoload.outcome"


def cost(comparison: Comparison) -> Iterable[str]:
    """Yield the cost of the autoload, one line per case.

    Args:
        comparison: the base without autoload, the measure with it, and otherwise the same ruler.
    """
    for case in comparison.cases:
        title = f"{case.key.title}: " if len(comparison.cases) > 1 else ""
        for row in case.rows:
            if row.role == "named":
                yield f"autoload costs: {title}{_on_the_row(row)}, {_on_the_import(case)}"


def _on_the_row(row: Row) -> str:
    minimum, verdict = row.evidence.minimum, row.reason.verdict
    if minimum is None:
        return f"not told on the {row.name}"
    low, high = minimum.interval(0.95)
    interval = f"{wording.percent(minimum.delta)} (95 %: {100 * low:+.1f} to {100 * high:+.1f})"
    if verdict in (Verdict.SLOWER, Verdict.FASTER):
        return f"{interval} on the {row.name}"
    if verdict is Verdict.SAME:
        return f"nothing beyond +-{wording.unsigned(row.evidence.margin)} on the {row.name}, measured {interval}"
    return f"nothing that can be told on the {row.name}, measured {interval}"


def _on_the_import(case: CaseRows) -> str:
    """Return the time of the backends' entry points, which is what the autoload adds to `import torch`."""
    processes = [one.rounds[-1].conditions for one in case.repetitions[Arm.MEASURE]]
    durations = [seconds for one in processes if isinstance(seconds := one.get(DURATION), float)]
    nothing = "; no backend is installed that it could load" if _all(processes, OUTCOME, "no_backend") else ""
    if durations:
        count = wording.count(len(durations), "process", "es")
        return f"{median(durations):+.2g} s on import torch (median of {count}){nothing}"
    if _all(processes, OUTCOME, "torch_not_imported"):
        return "and torch was not imported"
    return f"and what it adds to import torch was not observed (that needs torch 2.12.1){nothing}"


def _all(processes: Iterable[Mapping[str, Value]], attribute: str, value: str) -> bool:
    return all(one.get(attribute) == value for one in processes)
