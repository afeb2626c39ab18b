"""Forks before anything is recorded. The child uses the whole API, and prints the modules that it had to import."""

import os
import sys

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument, phase

if "harness" in sys.argv:
    import simpler.worker  # pyright: ignore[reportMissingImports,reportUnusedImport]  # noqa: F401
    import simpler_setup.scene_test  # pyright: ignore[reportMissingImports,reportUnusedImport]  # noqa: F401

if "api" in sys.argv:
    import opentelemetry.trace  # pyright: ignore[reportUnusedImport]  # noqa: F401

instrument()


@case("S", "decorated", level=2)
def decorated() -> None:
    """Dispatch once."""
    with dispatch(batch=3):
        pass


def everything() -> None:
    """Use every way to record."""
    with case("S", "c", level=3, platform="p", ratio=float("nan"), thing=object()):
        with phase("golden"):
            pass
        with dispatch():
            pass
    with dispatch(callable="outside"):
        pass
    decorated()
    try:
        with case("S", "fails"), dispatch():
            raise ValueError
    except ValueError:
        pass


imported: list[str] = []


def note(event: str, arguments: tuple[object, ...]) -> None:
    """Note each import of a module that is not there yet."""
    if event == "import":
        imported.append(str(arguments[0]))


child = os.fork()
if child == 0:
    sys.addaudithook(note)
    everything()
    sys.stdout.write(" ".join(imported) + "\n")
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
