"""The one place where faults of ours end: logged once, and the harness goes on."""

from __future__ import annotations

_told: set[str] = set()


def swallow(doing: str, error: Exception) -> None:
    """Log a fault of the instrumentation at WARNING, once a process for each thing that failed.

    Args:
        doing: what could not be done, as the end of a sentence: "record a dispatch".
        error: the fault.
    """
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
    import logging

    logger = logging.getLogger("opentelemetry.instrumentation.scenetest")
    try:
        logger.warning("%s", f"{message}: {detail}" if detail else message)
    except Exception:  # of a handler that makes warnings errors: this is the last guard
        return
