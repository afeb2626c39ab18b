"""The settings of recording in this process, owned by one object. `session.active` owns what is recorded with."""

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
        instrumented: whether `instrument()` is in force. Without it nothing is observed, logged or recorded.
        directory: the run directory, or None where there is nothing but the log line.
        made_run: the run directory, if this process made it rather than joined it.
        tracer_provider: the provider that was passed to `instrument()`.
        harnesses: the harnesses that are hooked.
        lock: held while a session is made or changed.
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
        """The harness that is loaded in this process, if there is one."""
        return next((harness for harness in self.harnesses if harness.is_loaded()), None)


state = State()
