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
    import os

    from opentelemetry.instrumentation.scenetest.record.recorder import case, dispatch, phase
    from opentelemetry.instrumentation.scenetest.rundir import layout as _layout

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    """Instrument this process and all Python processes that it starts from now on.

    Call it once, before `import torch`: what happened earlier was not observed, and may be `unknown`. It takes at most
    25 ms. A second call changes nothing, except that it sets a `tracer_provider`.

    Where it records to:

    1. the run in `SCENETEST_OTEL_RUN`, if the variable is set: this process is part of a run and joins it;
    2. a new run in `journal_dir`;
    3. a new run in `SCENETEST_OTEL_DIR`;
    4. a new run in `~/.local/state/scenetest-otel`, if `OTEL_EXPORTER_OTLP_ENDPOINT` or
       `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is set;
    5. nowhere. Then there is the log line, and spans on the program's own tracer provider, if it has set one.

    A run in which nothing was recorded is removed at exit. `OTEL_SDK_DISABLED=true`, or `scenetest` in
    `OTEL_PYTHON_DISABLED_INSTRUMENTATIONS`, switches it off.

    Args:
        tracer_provider: a provider of your own. All spans of this process are made on it, at once. The journal says so,
            and they are not delivered a second time.
        journal_dir: the store: the directory in which the run directory is made.
    """
    with standard_library.imports:
        from opentelemetry.instrumentation.scenetest.entrypoints import setup

        setup.instrument(tracer_provider, journal_dir)


def uninstrument() -> None:
    """Put back everything that `instrument()` changed, and unset `SCENETEST_OTEL_RUN` if it set it."""
    with standard_library.imports:
        from opentelemetry.instrumentation.scenetest.entrypoints import setup

        setup.uninstrument()


if _layout.RUN_VARIABLE in os.environ:
    # Join the run where no `.pth` file did: the package is on `PYTHONPATH` only, or the interpreter was given `-S`.
    instrument()
