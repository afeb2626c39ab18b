"""Runs the commands of the documentation that need a collector and a Jaeger, or the clock; see `support.pages`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import gobuild
import pytest
import stack as native_stack
from support import pages
from support.pages import PAGES, ROOT
from support.stack import Collector, Jaeger, eventually


@pytest.mark.parametrize("page", [page for page in PAGES if pages.blocks(page, "stack")], ids=lambda page: page.stem)
def test_the_commands_of_a_page_work_with_a_real_collector_and_jaeger(
    page: Path, jaeger: Jaeger, collector: Collector, tmp_path: Path
) -> None:
    addresses = {
        "http://localhost:4318": collector.otlp.http,
        "http://localhost:4317": collector.otlp.grpc,
        "http://localhost:16686": jaeger.ui,
    }
    for block in pages.blocks(page, "stack"):
        commands = block.commands
        for shown, real in addresses.items():
            commands = commands.replace(shown, real)
        own = replace(block, commands=commands)

        def run(own: pages.Block = own) -> subprocess.CompletedProcess[str]:
            return pages.run(own, tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.otlp.http})

        # A run is in Jaeger's search a moment after the collector has it.
        done = eventually(run, lambda done: done.returncode == 0) if "curl" in commands else run()
        assert done.returncode == block.code, f"{commands}\n{done.stdout}{done.stderr}"


@pytest.fixture
def own_stack(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Variables by which `make jaeger` starts a stack of this test's own; it is stopped at the end."""
    count = len(native_stack.PORTS)
    ports = dict(zip(native_stack.PORTS, native_stack._free_ports(count), strict=True))  # pyright: ignore[reportPrivateUsage]
    # As the user's own, so that what was built is found.
    variables = {**ports, "XDG_STATE_HOME": str(tmp_path / "state"), "PYTHON": sys.executable}
    yield variables
    subprocess.run(["make", "jaeger-stop", f"PYTHON={sys.executable}"], cwd=ROOT, env={**os.environ, **variables})


CLONE = [
    pytest.param(block, id=f"{page.stem}: {block.commands}") for page in PAGES for block in pages.blocks(page, "clone")
]


@pytest.mark.parametrize("block", CLONE)
def test_a_command_of_a_page_works_in_the_clone(block: pages.Block, own_stack: dict[str, str], tmp_path: Path) -> None:
    real = replace(block, commands=block.commands.replace("/path/to/jaeger", str(gobuild.ensure(gobuild.JAEGER))))
    done = pages.run(real, tmp_path, own_stack)
    assert done.returncode == block.code, f"{real.commands}\n{done.stdout}{done.stderr}"
