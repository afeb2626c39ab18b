"""Hooks on `pytest-benchmark`: a benchmark is a case, and each of its rounds a dispatch.

Calibration and warm-up rounds are not recorded, as in the library's own figures. A round is all its iterations
together. Cases with different numbers of iterations are different cases and are never compared.
"""

from __future__ import annotations

from functools import wraps

from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.harness import measured
from opentelemetry.instrumentation.scenetest.harness.wrapping import Hook
from opentelemetry.instrumentation.scenetest.record import recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from opentelemetry.instrumentation.scenetest.harness.wrapping import Function

FIXTURE = "pytest_benchmark.fixture"
STATS = "pytest_benchmark.stats"

_open: dict[int, recorder.case] = {}
"""The cases of running benchmarks, by the id of their figures object."""


def _make_stats(original: Function) -> Function:
    @wraps(original)
    def make_stats(self: Any, *args: Any, **keywords: Any) -> Any:
        # Called once, between calibration and the first round.
        figures = original(self, *args, **keywords)
        try:
            suite, _, name = str(self.fullname).rpartition("::")
            case = recorder.case(suite, name, iterations=int(figures.iterations))
            case.__enter__()
            _open[id(figures)] = case
        except Exception as error:
            faults.swallow("open the case of a benchmark", error)
        return figures

    return make_stats


def _run(original: Function) -> Function:
    @wraps(original)
    def run(self: Any, *args: Any, **keywords: Any) -> Any:
        try:
            result = original(self, *args, **keywords)
        except BaseException as error:
            _close(self, error)
            raise
        _close(self, None)
        return result

    return run


def _close(fixture: Any, error: BaseException | None) -> None:
    case = _open.pop(id(getattr(fixture, "stats", None)), None)
    if case is not None:
        case.__exit__(None if error is None else type(error), error, None)


def _update(original: Function) -> Function:
    @wraps(original)
    def update(self: Any, duration: float, *args: Any, **keywords: Any) -> Any:
        if id(self) in _open:
            measured.record(duration)
        return original(self, duration, *args, **keywords)

    return update


HOOKS = {
    FIXTURE: (
        Hook("BenchmarkFixture._make_stats", _make_stats, "the case of a benchmark"),
        Hook("BenchmarkFixture._raw", _run, "the end of a benchmark"),
        Hook("BenchmarkFixture._raw_pedantic", _run, "the end of a pedantic benchmark"),
    ),
    STATS: (Hook("Metadata.update", _update, "the rounds of a benchmark"),),
}
