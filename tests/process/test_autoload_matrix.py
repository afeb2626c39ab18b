"""Every cell of the matrix, in fresh interpreters with the real torch."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from support.autoload_cells import (
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
    spelled,
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
    assert witnessed(result, cell) == happened(cell)
    for observation, expected in zip(result.observed, [*cell.earlier, cell.conditions], strict=True):
        compare(observation["conditions"], expected, result.trace)


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_record_agrees_with_the_witnesses(cell: Cell, running: dict[str, Future[Any]]) -> None:
    result: Result = running[str(cell)].result()
    for observation in result.observed:
        modules, conditions = observation["modules"], observation["conditions"]
        assert conditions["torch.imported"] is (modules["torch"] == "complete")
        is_taken_out = "torch_npu" in cell.name and "patch.dict" in cell.name
        assert conditions["torch_npu.loaded"] is (modules["torch_npu"] == "complete" or is_taken_out)
        known = conditions["torch.backend_autoload.setting"] != "unknown"
        if result.switch and known and conditions["torch.backend_autoload.captured"] == "at_import":
            assert conditions["torch.backend_autoload.setting"] == spelled(result.switch[-1]["variable"])


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.earlier], ids=str)
def test_a_change_of_the_record_shows_in_the_fingerprint(cell: Cell, running: dict[str, Future[Any]]) -> None:
    before, after = running[str(cell)].result().observed
    assert before["conditions"] != after["conditions"]
    assert before["fingerprint"] != after["fingerprint"]


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
