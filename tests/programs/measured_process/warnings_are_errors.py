"""With warnings as errors, our warnings don't become exceptions of the program."""

from __future__ import annotations

import logging
from typing import Any

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument


class Strict(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise AssertionError(record.getMessage())


logging.getLogger().addHandler(Strict())
not_a_number: Any = "one"
instrument()
with case("S", "c"), dispatch(round=not_a_number):
    pass
