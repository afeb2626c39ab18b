"""Live spans and forks: each span is exported once, by the process that made it."""

from __future__ import annotations

from pathlib import Path

from support.live import run_live
from support.scripts import PROGRAMS


def test_a_span_that_is_open_at_a_fork_is_exported_once_by_the_parent(tmp_path: Path) -> None:
    exported, _ = run_live(
        PROGRAMS / "live/open_at_a_fork.py",
        tmp_path,
    )
    found = {span["name"]: span for span in exported}
    assert sorted(span["name"] for span in exported) == ["S::c", "S::child", "dispatch S::c", "dispatch S::child"]
    assert found["S::c"]["pid"] == found["dispatch S::c"]["pid"] != found["S::child"]["pid"]
    assert found["S::child"]["parent"] == found["dispatch S::c"]["id"]
    assert len({span["id"] for span in exported}) == 4


def test_a_forked_child_that_ends_by_os_exit_sends_what_a_batch_processor_holds(tmp_path: Path) -> None:
    exported, _ = run_live(
        PROGRAMS / "live/batch_in_forked_children.py",
        tmp_path,
    )
    assert sorted(span["name"] for span in exported) == ["batch_in_forked_children.py"] * 3 + ["dispatch work"] * 3
    assert len({(span["pid"], span["name"]) for span in exported}) == 6


def test_such_a_child_waits_a_second_for_a_dead_backend_and_no_more(tmp_path: Path) -> None:
    exported, _ = run_live(
        PROGRAMS / "live/dead_backend_in_a_forked_child.py",
        tmp_path,
    )
    assert 1 <= exported[0]["seconds"] < 5
