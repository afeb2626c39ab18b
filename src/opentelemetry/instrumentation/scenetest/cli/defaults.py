"""Reads the defaults of options from `[tool.scenetest-otel]` in the nearest `pyproject.toml`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from opentelemetry.instrumentation.scenetest.errors import BadInputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = "scenetest-otel"


class WithDefaults(click.Command):
    """A command whose options take their defaults from `pyproject.toml`. The command line overrides them."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the defaults before the command line is parsed.

        Raises:
            BadInputError: the file can't be read, or has a key that is not an option.
        """
        extra["default_map"] = {**extra.get("default_map", {}), **self._defaults()}
        return super().make_context(info_name, args, parent, **extra)

    def _defaults(self) -> dict[str, Any]:
        path, table = nearest_table()
        for key in table.keys() - SETTINGS:
            raise BadInputError(f"{path}: [tool.{TABLE}] has no {key}; it can set {', '.join(SETTINGS)}")
        names = {option.removeprefix("--"): parameter.name for parameter in self.params for option in parameter.opts}
        return {name: table[option] for option, name in names.items() if option in table and name}


SETTINGS = ("allow", "cold", "control", "dir", "fail-slower", "jaeger", "margin", "resolution", "sum")
"""The keys of the table: options of `compare`, `ab` and `report` that are the same for a whole project."""


def nearest_table() -> tuple[Path | None, dict[str, Any]]:
    """Return the nearest `pyproject.toml`, searching upwards from the working directory, and our table in it.

    Raises:
        BadInputError: the file can't be read, or is not valid TOML.
    """
    here = Path.cwd()
    for directory in (here, *here.parents):
        path = directory / "pyproject.toml"
        if path.is_file():
            try:
                content = tomllib.loads(path.read_text("utf-8"))
            except (OSError, ValueError) as error:
                raise BadInputError(f"{path} can't be read for its defaults: {error}") from None
            return path, content.get("tool", {}).get(TABLE, {})
    return None, {}
