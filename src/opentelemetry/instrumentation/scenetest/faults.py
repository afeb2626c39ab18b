"""The one place where faults of ours end: logged once, and the harness goes on."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
    text = f"{message}: {detail}" if detail else message
    try:
        logging = loaded_logging()
        if logging is not None:
            logging.getLogger("opentelemetry.instrumentation.scenetest").warning("%s", text)
        elif sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]: of a process without one
            # As logging's own handler of last resort would.
            sys.stderr.write(f"{text}\n")
    except Exception:  # a handler makes warnings errors, or stderr takes nothing: the last guard
        return


def loaded_logging() -> Any:
    """Return the module `logging` if the program has imported it, else None.

    It is never imported here: it hooks forks, and must not begin to do so in the middle of one.
    """
    logging = sys.modules.get("logging")
    # Its last function: another thread may be importing it.
    return logging if hasattr(logging, "captureWarnings") else None


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
