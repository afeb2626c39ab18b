"""Tests whose cases are opened by fixtures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from opentelemetry.instrumentation.scenetest import case

pytest_plugins = ["pytester"]


@pytest.fixture
def held(request: pytest.FixtureRequest) -> Iterator[None]:
    with case("S", request.node.name):
        yield


@pytest.fixture(scope="class")
def of_class(request: pytest.FixtureRequest) -> Iterator[None]:
    with case("class", request.node.name):
        yield


@pytest.fixture
def broken(held: None) -> None:
    raise OSError("no device")


def test_fails(held: None) -> None:
    assert not held, "text of the failure"
    raise AssertionError("text of the failure")


def test_raises(held: None) -> None:
    raise ValueError("1")


def test_skips(held: None) -> None:
    pytest.skip("not today")


def test_passes(held: None) -> None:
    pass


def test_has_a_broken_fixture(broken: None) -> None:
    pass


@pytest.mark.xfail
def test_fails_as_expected(held: None) -> None:
    raise AssertionError


@pytest.mark.xfail(strict=True)
def test_passes_unexpectedly(held: None) -> None:
    pass


def test_runs_a_failing_test(held: None, pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_inner(): assert False")
    pytester.inline_run().assertoutcome(failed=1)


@pytest.mark.usefixtures("of_class")
class TestOneFails:
    def test_skips(self) -> None:
        pytest.skip("not today")

    def test_fails(self) -> None:
        raise AssertionError

    def test_passes(self) -> None:
        pass


@pytest.mark.usefixtures("of_class")
class TestOnePasses:
    def test_skips(self) -> None:
        pytest.skip("not today")

    def test_passes(self) -> None:
        pass
