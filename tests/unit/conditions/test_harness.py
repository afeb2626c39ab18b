"""Conditions of the harness: its variables, its log level, and what its markers are written to."""

from __future__ import annotations

import logging
import os
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from opentelemetry.instrumentation.scenetest.conditions.condition import Seen
from opentelemetry.instrumentation.scenetest.conditions.harness import VARIABLES, raw_attribute
from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from opentelemetry.instrumentation.scenetest.conditions.values import Value

WITHOUT_HARNESS = Seen({}, {}, harness_name="")
WITH_HARNESS = Seen({}, {"scenetest.harness.path": "/harness"}, harness_name="simpler")
PARSE = {variable.name: variable.parse for variable in VARIABLES}


def observed(attribute: str, seen: Seen = WITH_HARNESS) -> Value | None:
    observe = CONDITIONS[attribute].observe
    assert observe is not None
    return observe(seen)


@pytest.mark.parametrize("name", ["PTO2_RING_TASK_WINDOW", "PTO2_RING_HEAP", "SIMPLER_PMU_EVENT_TYPE"])
def test_variables_that_are_taken_as_given(name: str) -> None:
    assert [PARSE[name](raw) for raw in (None, "", "0", "64")] == [None, "", "0", "64"]


@pytest.mark.parametrize(
    "name",
    [
        "SIMPLER_HBG_BIND_BREAKDOWN_ENABLE",
        "SIMPLER_HBG_HOST_PHASE_RECORDS_ENABLE",
        "SIMPLER_TMR_SERIAL_ORCH_SCHED_ENABLE",
    ],
)
def test_variables_that_are_on_by_their_first_letter(name: str) -> None:
    given = {None: False, "": False, "0": False, "yes": False, " 1": False, "1": True, "10": True, "t": True}
    assert {raw: PARSE[name](raw) for raw in given} == given
    assert PARSE[name]("True") is True


def test_a_variable_that_is_off_only_at_exactly_zero() -> None:
    given = {None: True, "": True, "1": True, "00": True, "false": True, "0": False}
    assert {raw: PARSE["SIMPLER_DEVICE_STRACE_ENABLE"](raw) for raw in given} == given


@pytest.mark.parametrize("name", ["SIMPLER_SKIP_DEVICE_RUN", "ASCEND_GLOBAL_LOG_LEVEL"])
def test_variables_that_are_on_when_present(name: str) -> None:
    assert {raw: PARSE[name](raw) for raw in (None, "", "0", "1")} == {None: False, "": True, "0": True, "1": True}


def test_a_variable_is_observed_with_a_harness_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMPLER_DEVICE_STRACE_ENABLE", "0")
    effective, raw = "scenetest.env.simpler_device_strace_enable", raw_attribute("SIMPLER_DEVICE_STRACE_ENABLE")
    assert (observed(effective), observed(raw)) == (False, "0")
    assert (observed(effective, WITHOUT_HARNESS), observed(raw, WITHOUT_HARNESS)) == (None, None)
    monkeypatch.delenv("SIMPLER_DEVICE_STRACE_ENABLE")
    assert (observed(effective), observed(raw)) == (True, None)


def test_what_the_harness_tells_of_itself_is_taken_over() -> None:
    assert observed("scenetest.harness.path") == "/harness"
    assert observed("scenetest.native.build_ids") is None


@pytest.mark.parametrize(
    ("level", "name"),
    [
        (logging.DEBUG, "debug"),
        (11, "info"),
        (logging.INFO, "info"),
        (21, "timing"),
        (25, "timing"),
        (26, "warn"),
        (logging.ERROR, "error"),
        (logging.CRITICAL, "null"),
    ],
)
def test_the_log_level_is_rounded_up_as_the_harness_does(level: int, name: str) -> None:
    logger = logging.getLogger("simpler")
    before = logger.level
    logger.setLevel(level)
    try:
        assert observed("scenetest.log_level") == name
        assert observed("scenetest.log_level", WITHOUT_HARNESS) is None
    finally:
        logger.setLevel(before)


@contextmanager
def stderr_is(descriptor: int) -> Generator[None]:
    saved = os.dup(2)
    os.dup2(descriptor, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


@pytest.mark.parametrize("kind", ["file", "pipe", "tty", "null", "socket"])
def test_the_kinds_of_stderr(kind: str, tmp_path: Path) -> None:
    with socket.socket() as open_socket:
        descriptors = {
            "file": lambda: [os.open(tmp_path / "log", os.O_RDWR | os.O_CREAT)],
            "pipe": lambda: [*reversed(os.pipe())],
            "tty": lambda: [*reversed(os.openpty())],
            "null": lambda: [os.open(os.devnull, os.O_RDWR)],
            "socket": lambda: [os.dup(open_socket.fileno())],
        }[kind]()
        with stderr_is(descriptors[0]):
            found = observed("scenetest.stderr", WITHOUT_HARNESS)
    for descriptor in descriptors:
        os.close(descriptor)
    assert found == kind


def test_a_closed_stderr_is_closed() -> None:
    saved = os.dup(2)
    os.close(2)
    try:
        found = observed("scenetest.stderr", WITHOUT_HARNESS)
    finally:
        os.dup2(saved, 2)
        os.close(saved)
    assert found == "closed"
