"""Hooks on `simpler.worker`: dispatches, the conditions at `Worker.init`, and the end of forked children."""

from __future__ import annotations

import inspect
from functools import wraps
from weakref import ref

from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.harness.simpler import facts, pytest_items
from opentelemetry.instrumentation.scenetest.harness.wrapping import Hook
from opentelemetry.instrumentation.scenetest.record import observe, recorder, session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from opentelemetry.instrumentation.scenetest.harness.wrapping import Function
    from opentelemetry.instrumentation.scenetest.record.outcomes import Ending


class _Submitted(recorder.dispatch):
    """An asynchronous dispatch. Only `wait` sees its end."""

    __slots__ = ("run_id",)

    run_id: int | None

    def _close(
        self, recording: session.Session, end: int, ending: Ending, attributes: Mapping[str, object] | None = None
    ) -> None:
        super()._close(recording, end, ending, {"scenetest.run_id": self.run_id} if self.run_id is not None else None)


_submitted: dict[ref[Any], _Submitted] = {}
"""Dispatches that nobody has waited for yet, by their handle. If nobody ever waits, the dispatch stays open."""


def _forget(handle: ref[Any]) -> None:
    _submitted.pop(handle, None)


def _run(original: Function) -> Function:
    @wraps(original)
    def run(self: Any, *args: Any, **keywords: Any) -> Any:
        if _in_dispatch():
            return original(self, *args, **keywords)
        with recorder.dispatch(**_attributes(self, args, keywords)):
            return original(self, *args, **keywords)

    return run


def _submit(original: Function) -> Function:
    @wraps(original)
    def submit(self: Any, *args: Any, **keywords: Any) -> Any:
        if _in_dispatch():  # `run` calls submit and wait
            return original(self, *args, **keywords)
        span = _Submitted(**_attributes(self, args, keywords), **{"async": True})
        span.run_id = None
        span.__enter__()
        try:
            handle = original(self, *args, **keywords)
        except BaseException as error:
            span.__exit__(type(error), error, error.__traceback__)
            raise
        span.leave()
        try:
            span.run_id = getattr(handle, "_run_id", None)
            _submitted[ref(handle, _forget)] = span
        except Exception as fault:
            faults.swallow("follow a submitted dispatch to its end", fault)
        return handle

    if not _takes(original, "self", "callable", "args", "config"):
        return submit
    innermost, dispatch, active = recorder.innermost, recorder.dispatch, session.active

    @wraps(original)
    def submit_in_run(self: Any, callable: Any, args: Any = None, config: Any = None) -> Any:  # noqa: A002
        span, recording = innermost(), active.session
        if span.__class__ is dispatch and span.session is recording is not None:  # type: ignore[union-attr]
            return original(self, callable, args, config)
        return submit(self, callable, args, config)

    submit_in_run.__defaults__ = original.__defaults__  # type: ignore[attr-defined]
    return submit_in_run


def _wait(original: Function) -> Function:
    @wraps(original)
    def wait(self: Any, *args: Any, **keywords: Any) -> Any:
        if not _submitted:
            return original(self, *args, **keywords)
        try:
            result = original(self, *args, **keywords)
        except BaseException as error:
            # After a timeout the run goes on and can be waited for again.
            if getattr(self, "_terminal", not isinstance(error, TimeoutError)):
                _end(self, error)
            raise
        _end(self, None)
        return result

    if not _takes(original, "self", "timeout"):
        return wait

    @wraps(original)
    def wait_in_run(self: Any, timeout: Any = None) -> Any:
        return wait(self, timeout) if _submitted else original(self, timeout)

    wait_in_run.__defaults__ = original.__defaults__  # type: ignore[attr-defined]
    return wait_in_run


def _takes(function: Function, *names: str) -> bool:
    """Tell whether these are all the parameters of a function.

    `run` is submit and wait, so the hooks on these two add to what is measured. Where the harness has the parameters
    that we know, they are passed on one by one: as `*args, **keywords` that takes three times as long.
    """
    try:
        given = inspect.getfullargspec(function)
    except TypeError:
        return False
    return tuple(given.args) == names and not (given.varargs or given.varkw or given.kwonlyargs)


def _end(handle: Any, error: BaseException | None) -> None:
    span = _submitted.pop(ref(handle), None)
    if span is not None:
        span.__exit__(None if error is None else type(error), error, None)


def _init(original: Function) -> Function:
    @wraps(original)
    def init(self: Any, *args: Any, **keywords: Any) -> Any:
        try:
            from opentelemetry.instrumentation.scenetest.harness import simpler

            simpler.hook_loaded()
            observe.observer.note_worker_init()
            # Begin before the fork. Otherwise each child would do the slow first steps within a dispatch.
            recording = session.active.session or session.begin()
            if recording is not None:
                recording.look()
                recording.expire()
        except Exception as error:
            faults.swallow("note the conditions at Worker.init", error)
        return original(self, *args, **keywords)

    return init


def _child_loop(original: Function) -> Function:
    @wraps(original)
    def loop(*args: Any, **keywords: Any) -> Any:
        # A child that dispatches has run Worker.init, and so has a session of its own.
        if session.active.session is None:
            return original(*args, **keywords)
        try:
            session.active.session.refresh()  # now, not during the dispatch of the parent
        except Exception as error:
            faults.swallow("note the conditions of a forked worker", error)
        result = original(*args, **keywords)
        session.finish()  # os._exit is next
        return result

    return loop


def _in_dispatch() -> bool:
    span = recorder.current()
    return span is not None and isinstance(span.holder, recorder.dispatch)


def _attributes(worker: Any, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a dispatch. Inside a case there are none, because the case has them."""
    try:
        span = recorder.current()
        if (span is not None and span.holder is not None) or pytest_items.begin_case(worker):
            return {}
        return {"callable": facts.of_callable(args[0] if args else keywords["callable"]), **facts.of_worker(worker)}
    except Exception as error:
        faults.swallow("tell what a dispatch is run with", error)
        return {}


HOOKS = (
    Hook("Worker.run", _run, "any dispatch"),
    Hook("Worker.submit", _submit, "an asynchronous dispatch"),
    Hook("RunHandle.wait", _wait, "the end of an asynchronous dispatch"),
    Hook("Worker.init", _init, "what held at Worker.init"),
    Hook("_run_mailbox_loop", _child_loop, "the clean end of a forked worker"),
)
