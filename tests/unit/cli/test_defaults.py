"""Defaults of options from `pyproject.toml`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from opentelemetry.instrumentation.scenetest.cli.defaults import WithDefaults, nearest_table
from opentelemetry.instrumentation.scenetest.errors import BadInputError

if TYPE_CHECKING:
    from pathlib import Path


@click.command(cls=WithDefaults)
@click.option("--margin", type=float, default=1.0)
@click.option("--fail-slower", is_flag=True)
@click.option("--dir", "store")
def command(margin: float, fail_slower: bool, store: str | None) -> None:
    click.echo(f"{margin} {fail_slower} {store}")


def printed(*options: str) -> str:
    done = CliRunner().invoke(command, options, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output.strip()


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    below = tmp_path / "a/b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    return tmp_path


def test_without_a_table_the_options_have_their_own_defaults(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.other]\n")
    assert nearest_table() == (project / "pyproject.toml", {})
    assert printed() == "1.0 False None"


def test_the_nearest_table_gives_the_defaults_and_the_command_line_wins(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.scenetest-otel]\nmargin = 9\n")
    (project / "a/pyproject.toml").write_text("[tool.scenetest-otel]\nmargin = 2\nfail-slower = true\ndir = 'runs'\n")
    assert printed() == "2.0 True runs"
    assert printed("--margin", "3") == "3.0 True runs"


def test_a_setting_of_another_command_is_left_out(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.scenetest-otel]\njaeger = 'http://localhost'\n")
    assert printed() == "1.0 False None"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.scenetest-otel]\nmargins = 2\n", "[tool.scenetest-otel] has no margins; it can set allow, cold, "),
        ("[tool.scenetest-otel\n", "can't be read for its defaults: "),
    ],
)
def test_a_table_that_cannot_be_used_is_bad_input(text: str, message: str, project: Path) -> None:
    (project / "pyproject.toml").write_text(text)
    with pytest.raises(BadInputError) as raised:
        printed()
    assert message in str(raised.value)
    assert str(raised.value).startswith(str(project / "pyproject.toml"))
