"""Where faults of the instrumentation end."""

from __future__ import annotations

import logging
import signal

import pytest

from opentelemetry.instrumentation.scenetest import faults


@pytest.fixture(autouse=True)
def _nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "_told", set[str]())


def test_a_fault_is_logged_once_for_each_thing_that_failed(caplog: pytest.LogCaptureFixture) -> None:
    faults.swallow("record a dispatch", ValueError("first"))
    faults.swallow("record a dispatch", ValueError("second"))
    faults.swallow("record a case", OSError("third"))
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.WARNING, "could not record a dispatch, the run goes on without it: ValueError: first"),
        (logging.WARNING, "could not record a case, the run goes on without it: OSError: third"),
    ]


def test_an_exception_of_the_programs_own_signal_handler_passes_through() -> None:
    def time_is_up(number: int, frame: object) -> None:
        raise TimeoutError("too slow")

    def interrupted_code_of_ours() -> None:
        try:
            signal.raise_signal(signal.SIGUSR2)
        except TimeoutError as error:
            faults.swallow("record a dispatch", error)

    before = signal.signal(signal.SIGUSR2, time_is_up)
    try:
        with pytest.raises(TimeoutError, match="too slow"):
            interrupted_code_of_ours()
    finally:
        signal.signal(signal.SIGUSR2, before)
