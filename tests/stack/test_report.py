"""The report in a real Chromium: drawing, widths, colours, keyboard."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright
from support.arms import CLEAN, write_run
from support.scripts import clean_environment

MS = 1_000_000
WARM = [101 * MS, 100 * MS, 103 * MS]
ENABLED = {**CLEAN, "torch.backend_autoload.effective": "enabled", "torch.backend_autoload.setting": "unset"}
ROUNDS = 4 * 2 * 4
DRAWN = "[...document.querySelectorAll('.figure')].every(e => e.querySelector('.main-svg'))"
FOCUSED = "e => (e = document.activeElement) && (e.id || e.ariaLabel || e.innerText)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    assert program, "chromium is not installed; `make chromium` installs it"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four alternating pairs, the measure 10 % slower, and one run of another ruler."""
    path = tmp_path_factory.mktemp("store")
    for place, turn in enumerate("BMMBBMMB"):
        name = f"{'base' if turn == 'B' else 'meas'}-{place}"
        times = [time + place * MS // 3 + (10 * MS if turn == "M" else 0) for time in WARM]
        write_run(path, name, place, [300 * MS, *times])
    write_run(path, "dirty", 9, [300 * MS, *WARM], ENABLED)
    return path


def report(store: Path, output: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "opentelemetry.instrumentation.scenetest", "report", *arguments]
    return subprocess.run(
        [*command, "--dir", str(store), "-o", str(output)],
        env=clean_environment(),
        cwd=store,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def compared(store: Path) -> Path:
    output = store / "compared.html"
    done = report(store, output, "base-*", "--", "meas-*")
    assert (done.returncode, done.stdout) == (0, f"{output}\n"), done.stderr
    return output


@pytest.fixture(scope="module")
def refused(store: Path) -> Path:
    output = store / "refused.html"
    done = report(store, output, "base-*", "--", "dirty")
    assert done.returncode == 4, done.stderr
    return output


class Visit:
    """An open page, and what its console says, what fails in it and what it loads beside itself."""

    def __init__(self, browser: Browser, path: Path, *, width: int = 1000, dark: bool = False) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light")
        self.heard: list[str] = []
        self.page.on("console", lambda message: self.heard.append(message.text))
        self.page.on("pageerror", lambda error: self.heard.append(str(error)))
        self.page.on("request", lambda request: self.heard.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_function(
            "[...document.querySelectorAll('.figure')].every(e => e.querySelector('.main-svg'))"
        )
        self.heard.remove(path.as_uri())

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_: object) -> None:
        self.page.close()


def test_every_round_of_both_arms_is_a_point_and_every_pair_a_line(browser: Browser, compared: Path) -> None:
    with Visit(browser, compared) as visit:
        assert visit.page.locator("#case-0-pairs path.js-line").count() == 4
        assert visit.page.locator("#case-0-time path.point").count() == ROUNDS
        assert visit.heard == []


def test_the_verdict_comes_first_and_the_first_figure_shows_it(browser: Browser, compared: Path) -> None:
    with Visit(browser, compared) as visit:
        assert visit.page.locator("h1").inner_text() == "Same ruler"
        assert "dispatch: slower: +9.9 %" in visit.page.locator(".verdict").inner_text()
        assert visit.page.locator(".figure").first.get_attribute("id") == "forest"
        figures = json.loads(visit.page.locator("#figures").inner_text())
        outer, inside, point = figures["forest"]["data"]
        assert outer["x"][0] < inside["x"][0] < point["x"][0] < inside["x"][1] < outer["x"][1]
        assert "slower" in (visit.page.locator("#forest .ytick").text_content() or "")


def test_the_order_of_the_arms_is_visible_over_time(browser: Browser, compared: Path) -> None:
    with Visit(browser, compared) as visit:
        figures = json.loads(visit.page.locator("#figures").inner_text())
        base, measure = (one for one in figures["case-0-time"]["data"] if one["name"] in ("base", "measure"))
        starts = sorted([(x, "B") for x in base["x"]] + [(x, "M") for x in measure["x"]])
        assert "".join(arm for _, arm in starts[::3]) == "BMMBBMMB"
        assert base["marker"]["color"] != measure["marker"]["color"]


def test_different_rulers_are_a_red_row_and_no_number(browser: Browser, refused: Path) -> None:
    with Visit(browser, refused) as visit:
        (row,) = visit.page.locator("tr.differs").all()
        assert "torch.backend_autoload.effective" in row.inner_text()
        assert row.locator("td").all_inner_texts() == ['disabled ("0")', "enabled (unset)"]
        red, green, blue = row.evaluate("e => getComputedStyle(e).color.match(/\\d+/g).map(Number)")[:3]
        assert red > 2 * max(green, blue)
        assert visit.page.locator("path.point").count() == 0
        assert visit.page.locator(".verdict").count() == 0
        assert visit.heard == []


@pytest.mark.parametrize("kind", ["compared", "refused"])
def test_the_page_is_no_wider_than_a_phone(browser: Browser, kind: str, request: pytest.FixtureRequest) -> None:
    with Visit(browser, request.getfixturevalue(kind), width=360) as visit:
        assert visit.page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read_in_both_colour_schemes(browser: Browser, compared: Path, dark: bool) -> None:
    with Visit(browser, compared, dark=dark) as visit:
        light = "e => getComputedStyle(e)[%s].match(/\\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b) / 3"
        ground = visit.page.locator("body").evaluate(light % "'backgroundColor'")
        ink = visit.page.locator("body").evaluate(light % "'color'")
        labels = visit.page.locator(".ytick text").first.evaluate(light % "'fill'")
        assert ground < 60 if dark else ground > 200
        assert min(abs(ink - ground), abs(labels - ground)) > 150


def test_every_table_and_figure_is_reached_with_the_tab_key(browser: Browser, compared: Path) -> None:
    with Visit(browser, compared) as visit:
        wanted = visit.page.locator("[tabindex='0'], summary").count()
        reached: set[str] = set()
        for _ in range(40):
            visit.page.keyboard.press("Tab")
            reached.add(visit.page.evaluate(FOCUSED))
        assert {
            "forest",
            "case-0-pairs",
            "case-0-time",
            "Times of TestVector::default  host_build_graph  L2",
        } <= reached
        assert len(reached) >= wanted


def test_a_dispatch_that_never_returned_is_marked(browser: Browser, tmp_path: Path) -> None:
    directory = write_run(tmp_path, "lost", 0, [300 * MS, *WARM])
    (journal,) = directory.glob("*.jsonl")
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:-3]))
    done = report(tmp_path, tmp_path / "report.html", "lost")
    assert done.returncode == 0, done.stderr
    with Visit(browser, tmp_path / "report.html") as visit:
        figures = json.loads(visit.page.locator("#figures").inner_text())
        traces = {trace["name"]: trace for trace in figures["case-0-time"]["data"]}
        assert traces["aborted"]["text"] == ["lost, round 3, aborted"]
        assert visit.page.locator("#case-0-time path.point").count() == 4
        assert visit.heard == []


@pytest.mark.parametrize("width", [360, 1000])
def test_the_toolbar_covers_no_legend(browser: Browser, compared: Path, width: int) -> None:
    with Visit(browser, compared, width=width) as visit:
        visit.page.locator("#case-0-time").hover()
        legend = visit.page.locator("#case-0-time .legend").bounding_box()
        assert legend is not None
        for bar in visit.page.locator("#case-0-time .modebar").all():
            box = bar.bounding_box()
            assert box is None or box["y"] + box["height"] <= legend["y"]


def test_conditions_that_are_equal_are_folded_and_those_that_differ_are_not(browser: Browser, refused: Path) -> None:
    with Visit(browser, refused) as visit:
        shown = [row for row in visit.page.locator("tbody tr").all() if row.is_visible()]
        assert shown[0].locator("th").inner_text().startswith("torch.backend_autoload.effective")
        assert "are the same for all" in visit.page.locator("summary").first.inner_text()
        hidden = visit.page.locator("tbody tr").count() - len(shown)
        assert hidden > 0
