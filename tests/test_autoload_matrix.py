"""Every cell of the matrix, in a fresh interpreter with the real torch."""

from __future__ import annotations

import importlib.metadata
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from autoload_cells import Cell, Result, load_cells, run_cell

if TYPE_CHECKING:
    from collections.abc import Iterator

CELLS = load_cells()
DURATION = "torch.backend_autoload.duration"


@pytest.fixture(scope="module")
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[Result]]]:
    """All cells of this session, two at a time: most of each is the import of torch."""
    chosen = {item.name.partition("[")[2].removesuffix("]") for item in request.session.items}
    with ThreadPoolExecutor(2) as pool:
        yield {
            str(cell): pool.submit(run_cell, cell, tmp_path_factory.mktemp("cell"))
            for cell in CELLS
            if str(cell) in chosen
        }


@pytest.fixture
def result(cell: Cell, running: dict[str, Future[Result]]) -> Result:
    return running[str(cell)].result()


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_witnesses_saw_what_the_matrix_says(cell: Cell, result: Result) -> None:
    setting = cell.setting if cell.happened["variable"] == "<setting>" else cell.happened["variable"]
    assert {
        "switch": [call["returned"] for call in result.switch],
        "trace": [event for _, event in result.trace],
        "raised": result.raised,
        "variable": result.observed[-1]["variable"],
    } == {**cell.happened, "variable": setting}


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_record_says_what_happened(cell: Cell, result: Result) -> None:
    expected = dict(cell.conditions)
    conditions: dict[str, Any] = dict(result.observed[-1]["conditions"])
    if expected.get("torch.version"):
        expected["torch.version"] = importlib.metadata.version("torch")
        conditions["torch.version"] = conditions["torch.version"].partition("+")[0]
    if expected.pop(DURATION, None):
        duration = conditions.pop(DURATION)
        assert isinstance(duration, float)
        moments = [moment for moment, _ in result.trace]
        assert duration >= (max(moments) - min(moments)) / 1e9 if moments else duration > 0
    assert conditions == expected
    assert {name: type(value) for name, value in conditions.items()} == {n: type(v) for n, v in expected.items()}
