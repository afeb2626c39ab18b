"""Renders the rows of `tests/data/autoload_cells.json` for the reference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from torch_env import PYTHONS

Row = tuple[str, ...]

DATA: Final = Path(__file__).resolve().parent.parent / "tests" / "data" / "autoload_cells.json"
GROUPS: Final = ("settings", "backends", "order")
HEAD: Final = (
    "",
    "installed",
    "torch's own switch said",
    "`effective`",
    "`setting`",
    "`captured`",
    "`outcome`",
    "more",
)
HEAD_OF_RELEASES: Final = ("torch", "Python", "rows", "recorded differently from the tables above")
HEAD_OF_PROCESSES: Final = ("", "process", "`effective`", "`setting`", "`captured`", "`outcome`", "more")

_WIDTH: Final = 20
_SHOWN: Final = ("effective", "setting", "captured", "outcome")
_MORE: Final = (
    "torch.backend_autoload.failed_backend",
    "torch_npu.loaded",
    "torch_npu.loaded_by",
    "torch_npu.initialized",
)


def cells(group: str) -> list[Row]:
    """Return a row for each cell of a group: how it starts, what happened and what is recorded."""
    data = _data()
    defaults = data["defaults"]
    rows: list[Row] = []
    for cell in data["cells"]:
        if cell["group"] == group:
            said = {**defaults["happened"], **cell["happened"]}["switch"]
            switch = ", ".join("true" if answer else "false" for answer in said) or "not called"
            installed = "; ".join(cell.get("backends", ())) or "-"
            rows.append((cell["name"], installed, switch, *_record({**defaults["conditions"], **cell["conditions"]})))
    return rows


def processes() -> list[Row]:
    """Return a row for each process of the recorded runs, with what is recorded."""
    data = _data()
    defaults = data["recorded_defaults"]["conditions"]
    return [
        (cell["name"], name, *_record({**defaults, **changes}))
        for cell in data["recorded"]
        for name, changes in cell["processes"].items()
    ]


def releases() -> list[Row]:
    """Return a row for each release of torch: its Python, how many rows run on it and what differs."""
    rows: list[Row] = []
    for release, versions in PYTHONS.items():
        groups = [group for group in _data()["releases"] if release in [name.split()[0] for name in group["releases"]]]
        changed = {name: value for group in groups for name, value in group["conditions"].items()}
        changed.pop("torch.version", None)
        different = ", ".join(
            f"`{name}` {'absent' if value is None else _code(value)}" for name, value in changed.items()
        )
        count = sum(len(group["cells"]) for group in groups)
        rows.append((release, versions[0], str(count), different or "nothing"))
    return rows


def _record(conditions: dict[str, Any]) -> Row:
    shown = [_code(conditions[f"torch.backend_autoload.{name}"]) for name in _SHOWN]
    more = [f"`{name}` {_code(conditions[name])}" for name in _MORE if conditions.get(name)]
    return (*shown, ", ".join(more))


def _code(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."
    return f"`{text}`" if text.strip() == text and text else f"`{json.dumps(text)}`"


def _data() -> dict[str, Any]:
    return json.loads(DATA.read_text("utf-8"))
