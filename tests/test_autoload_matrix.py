"""Every cell of the matrix, in fresh interpreters with the real torch."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from autoload_cells import (
    Cell,
    Recorded,
    RecordedCell,
    Result,
    compare,
    happened,
    load_cells,
    load_recorded,
    run_cell,
    run_recorded,
    witnessed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CELLS = load_cells()
RECORDED = load_recorded()
OBSERVED = ("torch.backend_autoload.", "torch.imported", "torch.version", "torch_npu.")


@pytest.fixture(scope="module")
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[Any]]]:
    """The cells that this session runs, two at a time: most of each is the import of torch."""
    chosen = {item.name.partition("[")[2].removesuffix("]") for item in request.session.items}
    rows: dict[str, Callable[[Path], Any]] = {
        **{str(cell): partial(run_cell, cell) for cell in CELLS},
        **{str(cell): partial(run_recorded, cell) for cell in RECORDED},
    }
    with ThreadPoolExecutor(2) as pool:
        yield {name: pool.submit(run, tmp_path_factory.mktemp("cell")) for name, run in rows.items() if name in chosen}


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_record_says_what_happened(cell: Cell, running: dict[str, Future[Any]]) -> None:
    result: Result = running[str(cell)].result()
    assert witnessed(result) == happened(cell)
    conditions = [observation["conditions"] for observation in result.observed]
    for found, expected in zip(conditions, [*cell.earlier, cell.conditions], strict=True):
        compare(found, expected, result.trace)


@pytest.mark.parametrize("cell", RECORDED, ids=str)
def test_every_process_of_a_run_records_what_happened_in_it(
    cell: RecordedCell, running: dict[str, Future[Any]]
) -> None:
    recorded: Recorded = running[str(cell)].result()
    assert [event for _, event in recorded.trace] == cell.happened["trace"]
    assert recorded.processes.keys() == cell.processes.keys()
    for name, expected in cell.processes.items():
        found = {key: value for key, value in recorded.processes[name].items() if key.startswith(OBSERVED)}
        compare(found, expected, recorded.trace)
