"""`instrument()` and `uninstrument()`: install and remove the finder, the hooks and the run directory."""

from __future__ import annotations

import os
import sys

from opentelemetry.instrumentation.scenetest import destination, faults, standard_library
from opentelemetry.instrumentation.scenetest.harness import HARNESSES, LIBRARIES
from opentelemetry.instrumentation.scenetest.record import autoload, session
from opentelemetry.instrumentation.scenetest.record.state import state
from opentelemetry.instrumentation.scenetest.rundir import exit_wait, handover, layout, run_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

_DISABLED = frozenset({"scenetest", "*"})


def instrument(
    tracer_provider: TracerProvider | None = None,
    journal_dir: str | os.PathLike[str] | None = None,
    name: str | None = None,
) -> None:
    """Observe torch's autoload, hook the harness, and record to a run directory if a store or an endpoint is set.

    Args:
        tracer_provider: the provider to make live spans with. A later call may set it, too, because a process of a run
            is instrumented before its program begins.
        journal_dir: the store in which to create the run directory.
        name: name of a new run.
    """
    if _is_disabled():
        return
    if tracer_provider is not None:
        state.tracer_provider = tracer_provider
    if state.instrumented:
        return
    try:
        state.harnesses = HARNESSES
        for one in (*HARNESSES, *LIBRARIES):
            one.install()
        autoload.install(session.begin_for_import)
        state.directory = os.environ.get(layout.RUN_VARIABLE) or _make_run(journal_dir, name)
        state.instrumented = True
        if state.directory:
            handover.hold(state.directory)
        if autoload.is_imported() or state.harness is not None:
            session.begin_for_import()
    except Exception as error:
        faults.swallow("instrument this process", error)


def uninstrument() -> None:
    """Restore everything that `instrument()` changed."""
    if not state.instrumented:
        return
    autoload.uninstall()
    for harness in HARNESSES:
        harness.uninstall()
    session.discard()
    handover.release()
    state.instrumented, state.directory, state.tracer_provider = False, None, None
    if state.made_run is not None:
        os.environ.pop(layout.RUN_VARIABLE, None)
        _clear_up(state.made_run)
        state.made_run = None


def _is_disabled() -> bool:
    # opentelemetry.io: configuration/sdk-environment-variables, and disabling of zero-code instrumentations in Python
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return True
    names = os.environ.get("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "").split(",")
    return not _DISABLED.isdisjoint(name.strip() for name in names)


def _make_run(journal_dir: str | os.PathLike[str] | None, name: str | None) -> str | None:
    store = os.fspath(journal_dir) if journal_dir else os.environ.get(layout.STORE_VARIABLE)
    if not store and not destination.has_endpoint():
        return None
    if not (store := store or layout.state_store()):
        faults.warn_once(f"nothing is recorded: this user has no home directory; set {layout.STORE_VARIABLE}")
        return None
    import atexit

    try:
        state.made_run = run_file.make_run(store, by="instrument", command=sys.orig_argv, name=name)
    except OSError as error:
        faults.swallow("make a run directory", error)
        return None
    os.environ[layout.RUN_VARIABLE] = state.made_run
    atexit.register(_leave, state.made_run, os.getpid())
    return state.made_run


def _leave(directory: str, maker: int) -> None:
    """End the run that this process created, at its exit. Does nothing in a forked child."""
    if os.getpid() != maker:
        return
    try:
        session.let_go()
        handover.release()
        with standard_library.imports:
            _end(directory)
    except KeyboardInterrupt:
        return
    except Exception as error:
        faults.swallow("end the run", error)


def _end(directory: str) -> None:
    if not _clear_up(directory) and (state.tracer_provider is None or handover.is_watched(directory)):
        exit_wait.wait(directory)


def _clear_up(directory: str) -> bool:
    """Remove the run if nothing was recorded, and return whether it is gone."""
    try:
        return run_file.remove_if_empty(directory)
    except OSError:
        # Another process may have moved or removed it.
        return True
