"""What this process records with: one object owns it, and a forked child lets go of what was its parent's."""

from __future__ import annotations

from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.trace import TracerProvider

    from opentelemetry.instrumentation.scenetest.record.harnesses import Harness
    from opentelemetry.instrumentation.scenetest.record.session import Session


class State:
    """The state of recording in this process.

    Attributes:
        instrumented: whether `instrument()` is in force. Without it nothing is observed, logged or recorded.
        directory: the run directory, or None where there is nothing but the log line.
        made_run: the run directory, if this process made it rather than joined it.
        tracer_provider: the provider that was passed to `instrument()`.
        harnesses: the harnesses that are hooked.
        session: the session of this process, once it has one.
        lock: held while a session is made or changed.
    """

    __slots__ = ("directory", "harnesses", "instrumented", "lock", "made_run", "session", "tracer_provider")

    def __init__(self) -> None:
        self.instrumented = False
        self.directory: str | None = None
        self.made_run: str | None = None
        self.tracer_provider: TracerProvider | None = None
        self.harnesses: Sequence[Harness] = ()
        self.session: Session | None = None
        self.lock = RLock()

    @property
    def harness(self) -> Harness | None:
        """The harness that is loaded in this process, if there is one."""
        return next((harness for harness in self.harnesses if harness.is_loaded()), None)

    def drop_in_child(self) -> Session | None:
        """Return the session of the parent, which is not that of this forked child; a thread may have held the lock."""
        self.lock = RLock()
        inherited, self.session = self.session, None
        return inherited


state = State()
