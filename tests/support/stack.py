"""A Jaeger and a collector for the test session, started as `make jaeger` does, on free ports."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
# A proxy of the machine has no business between a test and its loopback.
_http = urllib.request.build_opener(urllib.request.ProxyHandler({}))
T = TypeVar("T")


@dataclass(frozen=True)
class Endpoints:
    """The base URLs of an OTLP receiver."""

    http: str
    grpc: str


@dataclass(frozen=True)
class Jaeger:
    """A running Jaeger."""

    ui: str
    otlp: Endpoints

    def get(self, path: str, **query: str) -> dict[str, Any]:
        url = f"{self.ui}{path}?{urllib.parse.urlencode(query)}"
        with _http.open(url, timeout=20) as answer:
            return json.load(answer)

    def traces(self, service: str, tags: dict[str, str], limit: int = 1500) -> list[dict[str, Any]]:
        """Return the traces that Jaeger's search page finds, with times in microseconds."""
        asked = {"service": service, "tags": json.dumps(tags), "limit": str(limit), "lookback": "custom"}
        window = {"start": "0", "end": str(time.time_ns() // 1000 + 10**9)}
        return self.get("/api/traces", **asked, **window)["data"]

    def resource_spans(self, trace_id: str) -> list[dict[str, Any]]:
        """Return one trace as OTLP, with times in nanoseconds."""
        return self.get(f"/api/v3/traces/{trace_id}")["result"]["resourceSpans"]


@dataclass(frozen=True)
class Collector:
    """A running collector that forwards to Jaeger.

    Attributes:
        otlp: where it receives.
        spans_file: the file to which its file exporter copies what it accepted, one OTLP request a line.
        metrics: the page that Prometheus reads.
    """

    otlp: Endpoints
    spans_file: Path
    metrics: str

    def spans(self) -> list[dict[str, Any]]:
        """Return every span accepted so far, including duplicates, each with its `resource` as a dictionary."""
        found: list[dict[str, Any]] = []
        for line in self.spans_file.read_text().splitlines() if self.spans_file.exists() else ():
            for group in json.loads(line)["resourceSpans"]:
                resource = attributes(group["resource"])
                for scope in group["scopeSpans"]:
                    found += [{**span, "resource": resource} for span in scope["spans"]]
        return found


@dataclass(frozen=True)
class Stack:
    """A Jaeger and a collector in their own folder. Each can be stopped, and started again on the same ports."""

    folder: Path

    def start(self, *services: str) -> dict[str, Any]:
        return json.loads(self._call("start", "--free-ports", "--json", *services))

    def stop(self, *services: str) -> None:
        self._call("stop", *services)

    def _call(self, action: str, *arguments: str) -> str:
        command = [sys.executable, str(ROOT / "tools" / "stack.py"), action, "--folder", str(self.folder), *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def attributes(holder: dict[str, Any]) -> dict[str, Any]:
    """Return OTLP's list of attributes as a dictionary."""
    return {item["key"]: next(iter(item["value"].values())) for item in holder.get("attributes", [])}


def eventually(look: Callable[[], T], enough: Callable[[T], bool] = bool, seconds: float = 30) -> T:
    """Call `look` until its result is enough or time is up, and return its last result."""
    deadline = time.monotonic() + seconds
    while not enough(seen := look()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return seen


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Jaeger, Collector]]:
    own = Stack(tmp_path_factory.mktemp("stack"))
    try:
        at = own.start()
        yield (
            Jaeger(at["ui"], Endpoints(**at["jaeger"])),
            Collector(Endpoints(**at["collector"]), Path(at["spans"]), at["metrics"]),
        )
    finally:
        own.stop()


@pytest.fixture(scope="session")
def jaeger(stack: tuple[Jaeger, Collector]) -> Jaeger:
    return stack[0]


@pytest.fixture(scope="session")
def collector(stack: tuple[Jaeger, Collector]) -> Collector:
    return stack[1]
