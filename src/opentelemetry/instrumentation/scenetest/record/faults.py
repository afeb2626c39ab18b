"""The one place where faults of ours end: logged once, and the harness goes on."""

from __future__ import annotations

import sys

_told: set[str] = set()


def swallow(doing: str, error: Exception) -> None:
    """Log a fault of the instrumentation at WARNING, once a process for each thing that failed.

    Args:
        doing: what could not be done, as the end of a sentence: "record a dispatch".
        error: the fault. It is raised again if the program's own signal handler raised it, a timeout for example, which
            came while code of ours ran and is not meant for us.
    """
    if _is_of_a_signal_handler(error):
        raise error
    warn_once(f"could not {doing}, the run goes on without it", f"{type(error).__name__}: {error}")


def warn_once(message: str, detail: str = "") -> None:
    """Log a message at WARNING, once a process.

    Args:
        message: what is missing and what follows from it.
        detail: what may differ from one time to the next.
    """
    if message in _told:
        return
    _told.add(message)
    try:
        import logging

        logger = logging.getLogger("opentelemetry.instrumentation.scenetest")
        logger.warning("%s", f"{message}: {detail}" if detail else message)
    except Exception:  # no descriptor is left for the import, or a handler makes warnings errors: the last guard
        return


def _is_of_a_signal_handler(error: Exception) -> bool:
    signal = sys.modules.get("signal")
    if signal is None:
        return False
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {code for handler in handlers if (code := getattr(handler, "__code__", None)) is not None}
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code in codes:
            return True
        traceback = traceback.tb_next
    return False
