"""`instrument()` and `uninstrument()`: the observer, the run directory, the hooks; and the way back."""

from __future__ import annotations

import os
import sys

from opentelemetry.instrumentation.scenetest import journal
from opentelemetry.instrumentation.scenetest.record import autoload, faults, session, simpler, watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

_NAME = "scenetest"

_made_run: str | None = None
"""The run directory that this process made, rather than joined."""


def instrument(
    tracer_provider: TracerProvider | None = None, journal_dir: str | os.PathLike[str] | None = None
) -> None:
    """Observe torch's autoload, hook the harness and record to a run directory, if there is to be one.

    Args:
        tracer_provider: the provider to make spans with, at once. It is taken at any later call, too: a process of a
            run is instrumented before its program begins.
        journal_dir: the store in which to make the run directory.
    """
    if _is_disabled():
        return
    if tracer_provider is not None:
        session.tracer_provider = tracer_provider
    if session.instrumented:
        return
    try:
        simpler.install()
        autoload.install()
        session.directory = os.environ.get(journal.RUN_VARIABLE) or _make_run(journal_dir)
        session.instrumented = True
        if session.directory:
            watch.hold(session.directory)
    except Exception as error:
        faults.swallow("instrument this process", error)


def uninstrument() -> None:
    """Restore everything that `instrument()` changed."""
    global _made_run
    if not session.instrumented:
        return
    autoload.uninstall()
    simpler.uninstall()
    session.discard()
    watch.release()
    session.instrumented, session.directory, session.tracer_provider = False, None, None
    if _made_run is not None:
        os.environ.pop(journal.RUN_VARIABLE, None)
        _clear_up(_made_run)
        _made_run = None


def _is_disabled() -> bool:
    # opentelemetry.io: configuration/sdk-environment-variables, and disabling of zero-code instrumentations in Python
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return True
    return _NAME in (name.strip() for name in os.environ.get("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "").split(","))


def _make_run(journal_dir: str | os.PathLike[str] | None) -> str | None:
    global _made_run
    store = os.fspath(journal_dir) if journal_dir else os.environ.get(journal.STORE_VARIABLE)
    if not store and not watch.has_endpoint():
        return None
    if not (store := store or journal.state_store()):
        faults.warn_once(f"nothing is recorded: this user has no home directory; set {journal.STORE_VARIABLE}")
        return None
    import atexit

    try:
        _made_run = journal.make_run(store, by="instrument", command=sys.orig_argv)
    except OSError as error:
        faults.swallow("make a run directory", error)
        return None
    os.environ[journal.RUN_VARIABLE] = _made_run
    atexit.register(_leave, _made_run, os.getpid())
    return _made_run


def _leave(directory: str, maker: int) -> None:
    """End the run that this process made, as the last thing that it does; its forked children have no part in that."""
    if os.getpid() != maker:
        return
    try:
        session.let_go()
        watch.release()
        if not _clear_up(directory) and (session.tracer_provider is None or watch.is_watched(directory)):
            watch.wait(directory)
    except KeyboardInterrupt:
        return
    except Exception as error:
        faults.swallow("end the run", error)


def _clear_up(directory: str) -> bool:
    """Remove a run in which nothing was recorded, and tell whether there is no run now."""
    try:
        return journal.remove_if_empty(directory)
    except OSError:
        # Somebody may have moved or removed it.
        return True
