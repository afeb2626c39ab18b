"""The settings that `instrument()` made in this process. `session.active` holds the session."""

from __future__ import annotations

from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.trace import TracerProvider

    from opentelemetry.instrumentation.scenetest.record.harnesses import Harness


class State:
    """What `instrument()` set in this process.

    Attributes:
        instrumented: whether `instrument()` is active. If not, nothing is observed, logged or recorded.
        directory: the run directory; None if only the log line is written.
        made_run: the run directory, if this process created it. None if the process joined an existing run.
        tracer_provider: the provider that was passed to `instrument()`.
        harnesses: the hooked harnesses.
        lock: held while a session is created or changed.
    """

    __slots__ = ("directory", "harnesses", "instrumented", "lock", "made_run", "tracer_provider")

    def __init__(self) -> None:
        self.instrumented = False
        self.directory: str | None = None
        self.made_run: str | None = None
        self.tracer_provider: TracerProvider | None = None
        self.harnesses: Sequence[Harness] = ()
        self.lock = RLock()

    @property
    def harness(self) -> Harness | None:
        """The harness that this process has loaded, if any."""
        return next((harness for harness in self.harnesses if harness.is_loaded()), None)


state = State()
