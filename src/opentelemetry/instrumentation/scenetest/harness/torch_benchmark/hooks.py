"""Hooks on `torch.utils.benchmark`: a measurement of a `Timer` is a case, and each of its times a dispatch.

Warm-up and the search for a block size are not recorded, as in the `Measurement`. A dispatch is all its iterations
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

TIMER = "torch.utils.benchmark.utils.timer"
_NAME_LIMIT = 80

_skip: dict[int, int] = {}
"""How many warm-up times are still to come, by the id of the Timer."""


def _measurement(warm_up: int) -> Any:
    def wrap(original: Function) -> Function:
        @wraps(original)
        def measure(self: Any, number: int = 1_000_000, *args: Any, **keywords: Any) -> Any:
            case = _case_of(self, number)
            if case is None:
                return original(self, number, *args, **keywords)
            _skip[id(self)] = warm_up
            try:
                with case:
                    return original(self, number, *args, **keywords)
            finally:
                _skip.pop(id(self), None)

        return measure

    return wrap


def _timeit(original: Function) -> Function:
    @wraps(original)
    def timeit(self: Any, *args: Any, **keywords: Any) -> float:
        seconds = original(self, *args, **keywords)
        left = _skip.get(id(self))
        if left == 0:
            measured.record(seconds)
        elif left is not None:
            _skip[id(self)] = left - 1
        return seconds

    return timeit


def _case_of(timer: Any, number: int) -> recorder.case | None:
    try:
        spec = timer._task_spec
        words = [text for text in (spec.sub_label, spec.description) if text]
        name = " ".join(words or [spec.stmt]).partition("\n")[0][:_NAME_LIMIT]
        suite = spec.label or "torch.utils.benchmark"
        return recorder.case(suite, name, iterations=number, threads=spec.num_threads)
    except Exception as error:
        faults.swallow("name the case of a measurement", error)
        return None


HOOKS = {
    TIMER: (
        Hook("Timer.timeit", _measurement(1), "a measurement by timeit"),
        Hook("Timer._threaded_measurement_loop", _measurement(0), "a measurement by autorange"),
        Hook("Timer._timeit", _timeit, "the times of a measurement"),
    )
}
