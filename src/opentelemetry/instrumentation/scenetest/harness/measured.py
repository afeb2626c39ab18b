"""Records a round that a benchmark library has measured, after the round has ended.

The library reads its own clock around many iterations. Nothing of ours runs between its clock reads. After each round
we record a dispatch with the duration that the library measured.
"""

from __future__ import annotations

from time import monotonic_ns

from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.record import recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.instrumentation.scenetest.record import session
    from opentelemetry.instrumentation.scenetest.record.outcomes import Ending


class _Timed(recorder.dispatch):
    """A dispatch with start and end times that the library measured."""

    __slots__ = ("times",)

    times: tuple[int, int]

    def _close(
        self, recording: session.Session, end: int, ending: Ending, attributes: Mapping[str, object] | None = None
    ) -> None:
        self.start, end = self.times
        super()._close(recording, end, ending, attributes)


def record(seconds: float) -> None:
    """Record a round that has just ended as a dispatch of the current case.

    Args:
        seconds: its duration by the library's clock.
    """
    try:
        end = monotonic_ns()
        timed = _Timed()
        timed.times = end - round(seconds * 1e9), end
        with timed:
            pass
    except Exception as error:
        faults.swallow("record a round of a benchmark", error)
