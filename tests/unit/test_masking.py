"""Secrets in command lines, in every form that is known."""

from __future__ import annotations

import pytest

from opentelemetry.instrumentation.scenetest.masking import masked, recorded

FORMS = [
    (["--password", "x"], ["--password", "****"]),
    (["--password", "-value"], ["--password", "****"]),
    (["--PASSWORD", "x", "--name", "y"], ["--PASSWORD", "****", "--name", "y"]),
    (["--password=x"], ["--password=****"]),
    (["--pwd", "x"], ["--pwd", "****"]),
    (["--no-passwd", "x"], ["--no-passwd", "****"]),
    (["--api-key=x", "--api_key", "x"], ["--api-key=****", "--api_key", "****"]),
    (["--private_key", "x"], ["--private_key", "****"]),
    (["--token", "x", "--secret", "x"], ["--token", "****", "--secret", "****"]),
    (["-H", "Authorization: Bearer x"], ["-H", "Authorization:****"]),
    (["-H", "X-Custom: Bearer x"], ["-H", "X-Custom: Bearer ****"]),
    (["--header=Authorization:x"], ["--header=Authorization:****"]),
    (["--header", "X-Api-Key: x"], ["--header", "X-Api-Key:****"]),
    (["--header", "Cookie: session=x"], ["--header", "Cookie:****"]),
    (["https://user:pw@host/path"], ["https://****@host/path"]),
    (["--index-url=https://x@host/simple"], ["--index-url=https://****@host/simple"]),
    (["-u", "me:x"], ["-u", "me:****"]),
    (["env", "PASSWORD=x", "AWS_SECRET_ACCESS_KEY=x"], ["env", "PASSWORD=****", "AWS_SECRET_ACCESS_KEY=****"]),
    (["-Dpassword=x"], ["-Dpassword=****"]),
    (["sh", "-c", "curl --password x host"], ["sh", "-c", "curl --password **** host"]),
    (["--data", '{"password": "x"}'], ["--data", '{"password":****']),
    (["ghp_0123456789abcdef"], ["****"]),
    (["AKIA0123456789ABCDEF"], ["****"]),
    (["eyJhbGciOiJI.eyJzdWIi.x"], ["****"]),
]
HARMLESS = [
    ["python", "tests/test_auth.py::test_password", "-k", "auth and not token"],
    ["--platform", "a2a3sim", "-p", "a5sim", "--rounds", "10"],
    ["--author=Bob", "--passes", "3", "--bypass"],
    ["run", "token", "abc"],
    ["run", "--token", "--name", "y"],
    ["http://localhost:4318/v1/traces"],
]


@pytest.mark.parametrize(("command", "shown"), FORMS)
def test_a_secret_is_masked(command: list[str], shown: list[str]) -> None:
    assert masked(command) == shown
    assert masked(shown) == shown


@pytest.mark.parametrize("command", HARMLESS)
def test_what_is_no_secret_stays(command: list[str]) -> None:
    assert masked(command) == command


def test_the_user_can_have_the_program_alone_recorded() -> None:
    command = ["python", "script.py", "--unknown-form", "x"]
    assert recorded(command, {"SCENETEST_OTEL_COMMAND_LINE": " Off "}) == ["python"]
    assert recorded(command, {}) == command
