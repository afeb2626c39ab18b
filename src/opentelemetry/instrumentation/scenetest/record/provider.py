"""The program's own tracer provider, on which live spans are made: chooses it, and tracks whether it was flushed."""

from __future__ import annotations

from functools import wraps

from opentelemetry import trace
from opentelemetry.instrumentation.scenetest import faults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from opentelemetry.trace import TracerProvider

    from opentelemetry.instrumentation.scenetest.record.session import Active

USING = "make spans with the program's own tracer provider"
_WATCHING = "see whether the program's own tracer provider is flushed"

_NOT_REAL = (trace.ProxyTracerProvider, trace.NoOpTracerProvider)
_FLUSH_SECONDS = 1.0
_MARK = "_scenetest"
"""Attribute that marks our wrappers, so that a forked child doesn't wrap a method twice."""


def used(given: TracerProvider | None) -> TracerProvider | None:
    """Return the provider to make live spans with; None if no provider makes real spans.

    Args:
        given: the provider that was passed to us. None: the global one, if the program has set one.
    """
    return _global() if given is None else real(given)


def real(provider: TracerProvider | None) -> TracerProvider | None:
    """Return the provider if it makes real spans: None for a no-op one, the global one for a proxy."""
    if isinstance(provider, trace.ProxyTracerProvider):
        return _global()
    return None if isinstance(provider, trace.NoOpTracerProvider) else provider


class FlushTracker:
    """Watches whether the program flushes the provider that the spans of a session are made on.

    Args:
        active: holds the session of this process. A forked child has a copy of the provider, but its own session.

    Attributes:
        is_flushed: whether the provider was flushed after the last live span.
    """

    __slots__ = ("_active", "_left_some", "_provider", "_wrapped", "is_flushed")

    def __init__(self, active: Active) -> None:
        self.is_flushed = False
        self._active = active
        self._left_some = False
        """Whether an earlier provider was never flushed."""
        self._provider: TracerProvider | None = None
        self._wrapped: list[tuple[str, Any, Any]] = []

    def begin(self, given: TracerProvider | None) -> bool:
        """Wrap `shutdown` and `force_flush` of the provider.

        Args:
            given: the provider that was passed to us.

        Returns:
            Whether the provider is a different one than at the last call.
        """
        provider = used(given)
        if provider is self._provider:
            return False
        self.let_go()
        if self._provider is not None and not self.is_flushed:
            self._left_some = self._left_some or not _is_shut_down_at_exit(self._provider)
        self._provider = provider
        ways = {
            "shutdown": (self._before_shutdown, self._after_shutdown),
            "force_flush": (_nothing, self._after_flush),
        }
        try:
            for name, (before, after) in ways.items():
                original = getattr(provider, name, None)
                if original is not None and not hasattr(original, _MARK):
                    ours = _tracked(original, before, after)
                    self._wrapped.append((name, _of_object(provider).get(name), ours))
                    setattr(provider, name, ours)
        except Exception as error:
            faults.swallow(_WATCHING, error)
        return True

    def is_sent(self, given: TracerProvider | None, *, flush: bool) -> bool:
        """Return whether the provider has sent all live spans, or will at exit, as far as can be known.

        Args:
            given: the provider that was passed to us.
            flush: flush it now, because no later code does (the process ends by `os._exit`).
        """
        provider = used(given)
        is_sent = self.is_flushed or (_flush(provider) if flush else _is_shut_down_at_exit(provider))
        return is_sent and not self._left_some

    def let_go(self) -> None:
        """Remove our wrappers from the provider."""
        wrapped, self._wrapped = self._wrapped, []
        for name, before, ours in wrapped:
            if _of_object(self._provider).get(name) is not ours:
                continue
            if before is None:
                delattr(self._provider, name)
            else:
                setattr(self._provider, name, before)

    def _before_shutdown(self) -> None:
        # A span that is still open at shutdown would be lost.
        if self._active.session is not None:
            self._active.session.end_live_process()

    def _after_shutdown(self) -> None:
        self.let_go()
        self._after_flush()

    def _after_flush(self) -> None:
        if self._active.session is not None and self._active.session.provider is not None:
            self._active.session.provider.is_flushed = True


def _tracked(original: Any, before: Callable[[], None], after: Callable[[], None]) -> Any:
    @wraps(original)
    def call(*arguments: Any, **keywords: Any) -> Any:
        _guarded(before)
        done = original(*arguments, **keywords)
        if done is not False:
            _guarded(after)
        return done

    setattr(call, _MARK, True)
    return call


def _is_shut_down_at_exit(provider: TracerProvider | None) -> bool:
    # The SDK's provider sets `_atexit_handler` to None if it won't be shut down at exit, or already was. Other
    # providers don't say; assume that they are shut down.
    return getattr(provider, "_atexit_handler", True) is not None


def _guarded(do: Callable[[], None]) -> None:
    try:
        do()
    except Exception as error:
        faults.swallow(_WATCHING, error)


def _of_object(provider: TracerProvider | None) -> dict[str, Any]:
    return getattr(provider, "__dict__", {})


def _nothing() -> None:
    pass


def _flush(provider: TracerProvider | None) -> bool:
    """Flush the provider, in a process that ends by `os._exit`. Waits for one second at most.

    Returns:
        Whether the provider reports that it sent everything.
    """
    from threading import Thread

    done: list[bool] = []
    try:
        sending = Thread(target=_force_flush, args=(provider, done), daemon=True)
        sending.start()
        sending.join(_FLUSH_SECONDS)
    except Exception as error:
        faults.swallow(USING, error)
    return any(done)


def _force_flush(provider: TracerProvider | None, done: list[bool]) -> None:
    try:
        force_flush = getattr(provider, "force_flush", None)
        if force_flush is not None:
            done.append(force_flush() is not False)
    except Exception as error:
        faults.swallow(USING, error)


def _global() -> TracerProvider | None:
    provider = trace.get_tracer_provider()
    return None if isinstance(provider, _NOT_REAL) else provider
