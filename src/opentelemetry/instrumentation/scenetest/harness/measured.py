"""Records what a benchmark library has timed by itself, after the fact.

Such a library reads its own clock around many iterations. A dispatch is recorded right after each of its rounds, and
lasts as long as the library says: nothing of ours is between its clock reads.
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
    """A dispatch with two times that somebody else read."""

    __slots__ = ("times",)

    times: tuple[int, int]

    def _close(
        self, recording: session.Session, end: int, ending: Ending, attributes: Mapping[str, object] | None = None
    ) -> None:
        self.start, end = self.times
        super()._close(recording, end, ending, attributes)


def record(seconds: float) -> None:
    """Record a round that ended now as a dispatch of the current case.

    Args:
        seconds: how long it took, by the library's clock.
    """
    try:
        end = monotonic_ns()
        timed = _Timed()
        timed.times = end - round(seconds * 1e9), end
        with timed:
            pass
    except Exception as error:
        faults.swallow("record a round of a benchmark", error)
