"""The tools that start the stack."""

from __future__ import annotations

from pathlib import Path

import gobuild
import pytest


def program(path: Path, version: str) -> str:
    path.write_text(f"#!/bin/sh\necho 'gitVersion: {version}'\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("number", [0, -1])
def test_a_release_of_jaeger_is_taken_instead_of_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    given = program(tmp_path / "jaeger", gobuild.JAEGER.releases[number])
    monkeypatch.setenv("JAEGER_BINARY", given)
    assert gobuild.ensure(gobuild.JAEGER) == Path(given)


def test_another_release_of_jaeger_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAEGER_BINARY", program(tmp_path / "jaeger", "v1.2.3"))
    with pytest.raises(RuntimeError, match=r"is not of the release v1\.\d+\.\d+ or v2\."):
        gobuild.ensure(gobuild.JAEGER)
