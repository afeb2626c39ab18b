"""Pictures of pages that other programs show: Jaeger's, from a Jaeger that runs here, and Perfetto's.

Their built pages are taken from folders that the caller names. Nothing is built or downloaded here.
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

STACK = Path(__file__).with_name("stack.py")
SERVICE = "scenetest"
_DRAWN = 3_000
"""Milliseconds that a page has for drawing what it has loaded."""
_TO_THE_TOP = "e => e.scrollIntoView({block: 'start'})"
_TRIES = 10
_CHOSEN = "conditions"
"""The event of a process that holds the conditions under which it measured."""
_HOUR_US = 3_600_000_000


@contextmanager
def opened(*, dark: bool = False, width: int = 1000, height: int = 900) -> Generator[Page]:
    """Open an empty page in a headless Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser.new_page(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", locale="en-US"
        )
        browser.close()


@contextmanager
def jaeger(pages: Path, folder: Path) -> Generator[dict[str, Any]]:
    """Run a Jaeger that shows these pages, and give its addresses.

    Args:
        pages: a folder with Jaeger's built user interface.
        folder: for its data and logs.
    """
    environment = {**os.environ, "JAEGER_UI_ASSETS": str(pages.resolve())}
    stack = [sys.executable, str(STACK)]
    started = [*stack, "start", "jaeger", "--free-ports", "--json", "--folder", str(folder)]
    answer = subprocess.run(started, env=environment, check=True, stdout=subprocess.PIPE).stdout
    try:
        yield json.loads(answer)
    finally:
        subprocess.run([*stack, "stop", "--folder", str(folder)], check=True)


def draw_jaeger(address: str, tags: dict[str, str], pictures: Path) -> None:
    """Write pictures of a search by conditions, and of one of the traces that it finds.

    Args:
        address: of Jaeger's pages.
        tags: what is searched for.
        pictures: folder for `jaeger-search.png` and `jaeger-trace.png`.
    """
    now = time.time_ns() // 1000
    query = {"service": SERVICE, "tags": json.dumps(tags), "limit": "20", "lookback": "1h"}
    window = {"start": str(now - _HOUR_US), "end": str(now)}
    with opened(width=1700, height=850) as page:
        page.goto(f"{address}/search?{urllib.parse.urlencode({**query, **window})}")
        found = page.locator("a[href^='/trace/']:not([href*='...'])")
        found.first.wait_for()
        page.wait_for_timeout(_DRAWN)
        page.screenshot(path=pictures / "jaeger-search.png")
        page.goto(address + str(found.first.get_attribute("href")))
        row = page.locator(".span-view").nth(2)
        row.wait_for()
        page.wait_for_timeout(_DRAWN)
        row.click()
        page.locator(".AccordianKeyValues--header", has_text="Process").click()
        page.get_by_text("torch.backend_autoload.effective").first.evaluate("e => e.scrollIntoView({block: 'center'})")
        page.wait_for_timeout(_DRAWN)
        page.screenshot(path=pictures / "jaeger-trace.png")


def draw_perfetto(pages: Path, trace: Path, picture: Path) -> None:
    """Write a picture of a trace with the conditions of its process chosen, as Perfetto shows it.

    Args:
        pages: a folder with Perfetto's built user interface.
        trace: the file that `export --format perfetto` wrote.
        picture: file to write.
    """
    with served(pages, trace) as address, opened(width=1300, height=800) as page:
        page.goto(f"{address}/index.html#!/?url={address}/{trace.name}&hideSidebar=true")
        page.get_by_text("Thread").first.wait_for()
        page.wait_for_timeout(_DRAWN)
        page.get_by_placeholder("Search").click()
        page.keyboard.type(_CHOSEN)
        chosen = page.get_by_text("Arguments").first
        for _ in range(_TRIES):  # until the search has read the trace
            page.keyboard.press("Enter")
            page.wait_for_timeout(_DRAWN)
            if chosen.is_visible():
                break
        page.get_by_text("backend_autoload").first.evaluate(_TO_THE_TOP)
        page.wait_for_timeout(_DRAWN)
        page.screenshot(path=picture)


@contextmanager
def served(folder: Path, file: Path) -> Generator[str]:
    """Serve a folder, and one more file as if it were in it, and give the address."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            return str(file) if path == f"/{file.name}" else super().translate_path(path)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
