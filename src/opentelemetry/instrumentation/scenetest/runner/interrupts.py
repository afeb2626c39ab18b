"""Delays requests to end this process until it is ready for them."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType, TracebackType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from signal import _HANDLER  # pyright: ignore[reportPrivateUsage]

_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Interrupts:
    """Raises KeyboardInterrupt for a request to end, but only inside `allowed()`. A request outside is kept for it.

    So a started process is always known to the code that has to end it. A signal that was ignored stays ignored.
    """

    def __init__(self) -> None:
        self._before: dict[int, _HANDLER] = {}
        self._allowed = False
        self._came = False

    def __enter__(self) -> Interrupts:
        for number in _REQUESTS:
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def allowed(self) -> Generator[None]:
        """Allow a request to interrupt the block; at once if one came before.

        Raises:
            KeyboardInterrupt: this process was asked to end.
        """
        self._allowed = True
        try:
            if self._came:
                raise KeyboardInterrupt
            yield
        finally:
            self._allowed = self._came = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came = True
        if self._allowed:
            raise KeyboardInterrupt
