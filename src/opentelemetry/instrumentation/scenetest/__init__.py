"""The conditions of a measurement, on the measurement: OpenTelemetry instrumentation for SceneTest.

Usage
-----

.. code-block:: python

    from opentelemetry.instrumentation.scenetest import case, dispatch, instrument, phase

    instrument()
    with case("TestVector", "default", level=2, platform="a2a3sim", runtime="tensormap_and_ringbuffer"):
        with phase("golden"):
            ...
        for _ in range(rounds):
            with dispatch():
                worker.run(...)

One `instrument()` in a driver or `conftest.py` is enough: the processes below it join the run. Cases, phases and
dispatches of `simpler`'s SceneTest harness are recorded without any change to it. Without changing the program at all:
`scenetest-otel run -- python test_vector.py`.

The process that is measured only appends to a journal; `scenetest-otel show` reads it. Nothing in here raises: a fault
of the instrumentation is logged once, and the program goes on.

PYTEST_DONT_REWRITE: this is imported before pytest is, and pytest would warn that it comes too late.
"""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest import standard_library
from opentelemetry.instrumentation.scenetest.version import __version__

with standard_library.imports:
    from opentelemetry.instrumentation.scenetest.record.recorder import case, dispatch, phase

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from opentelemetry.trace import TracerProvider

    from opentelemetry.instrumentation.scenetest.entrypoints.instrumentor import (
        SceneTestInstrumentor as SceneTestInstrumentor,
    )

# Without SceneTestInstrumentor: `import *` must stay cheap in a measured process.
__all__ = ["__version__", "case", "dispatch", "instrument", "phase", "uninstrument"]


def __getattr__(name: str) -> object:
    """Import `SceneTestInstrumentor` when it is asked for: a measured process has no use for it."""
    if name == "SceneTestInstrumentor":
        from opentelemetry.instrumentation.scenetest.entrypoints.instrumentor import SceneTestInstrumentor

        return SceneTestInstrumentor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def instrument(
    *, tracer_provider: TracerProvider | None = None, journal_dir: str | os.PathLike[str] | None = None
) -> None:
    """Instrument this process and all Python processes below it. Idempotent; at most 25 ms.

    It observes what torch's backend autoload does, hooks the harness, and records to a run directory: the one named by
    `SCENETEST_OTEL_RUN` if this process is part of a run, else a new one, if there is a directory or an endpoint
    (`journal_dir`, `SCENETEST_OTEL_DIR`, `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`). With
    neither, spans are made at once on the global tracer provider, if the program has set one; else there is nothing but
    the log line. `OTEL_SDK_DISABLED=true` and `scenetest` in
    `OTEL_PYTHON_DISABLED_INSTRUMENTATIONS` switch it off.

    Call it before `import torch`: what happened earlier was not observed and may be `unknown`.

    Args:
        tracer_provider: a provider of the program's own to make all spans of this process with, at once. A journal
            then says that they were exported elsewhere, and they are not delivered a second time.
        journal_dir: the store, a directory in which the run directory is made.
    """
    with standard_library.imports:
        from opentelemetry.instrumentation.scenetest.entrypoints import setup

        setup.instrument(tracer_provider, journal_dir)


def uninstrument() -> None:
    """Restore every hook to the identical original object and take `SCENETEST_OTEL_RUN` back."""
    with standard_library.imports:
        from opentelemetry.instrumentation.scenetest.entrypoints import setup

        setup.uninstrument()
