"""unittest tests whose setUp opens a case, which a cleanup closes after the test has ended."""

from __future__ import annotations

import unittest

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()


class TestHeld(unittest.TestCase):
    def setUp(self) -> None:
        held = case("Unittest", self._testMethodName)
        held.__enter__()
        self.addCleanup(held.__exit__, None, None, None)

    def tearDown(self) -> None:
        if self._testMethodName.endswith("tear_down"):
            raise OSError("the device is gone")

    def test_fails(self) -> None:
        with dispatch():
            pass
        self.fail("text of the failure")

    def test_raises(self) -> None:
        raise ValueError

    def test_skips(self) -> None:
        self.skipTest("not here")

    def test_passes(self) -> None:
        pass

    @unittest.expectedFailure
    def test_fails_as_expected(self) -> None:
        self.fail()

    def test_fails_in_a_part(self) -> None:
        for number in range(2):
            with self.subTest(number=number):
                assert number == 0

    def test_fails_in_its_tear_down(self) -> None:
        pass


class TestAsync(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        held = case("Unittest", self._testMethodName)
        held.__enter__()
        self.addCleanup(held.__exit__, None, None, None)

    async def test_awaits_and_fails(self) -> None:
        self.fail()


if __name__ == "__main__":
    with case("Unittest", "all tests"):
        done = unittest.main(exit=False)
    raise SystemExit(not done.result.wasSuccessful())
