"""Runs the commands of the documentation, as a reader types them; `support.pages` says which and where.

Those that need a collector, a Jaeger or the clone run in `tests/stack/test_page_commands_of_the_stack.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support import pages
from support.pages import PAGES

FOLDERS = ("demo", "harness", "plain", "none")


@pytest.mark.parametrize("page", [page for page in PAGES if pages.blocks(page, *FOLDERS)], ids=lambda page: page.stem)
def test_the_commands_of_a_page_do_what_the_page_says(page: Path, tmp_path: Path) -> None:
    for block in pages.blocks(page, *FOLDERS):
        done = pages.run(block, tmp_path)
        assert done.returncode == block.code, f"{block.commands}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_commands_is_run_or_says_why_not(page: Path) -> None:
    assert pages.without_a_mark(page) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_mark_stands_before_a_block(page: Path) -> None:
    assert len(pages.blocks(page, *FOLDERS, "stack", "clone")) == pages.marks(page)
