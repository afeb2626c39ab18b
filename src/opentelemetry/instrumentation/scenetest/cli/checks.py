"""The checks of `scenetest-otel doctor`. Each gives one line: what was found, and what to do if it is wrong."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from opentelemetry.instrumentation.scenetest import destination
from opentelemetry.instrumentation.scenetest.conditions.autoload_setting import VARIABLE
from opentelemetry.instrumentation.scenetest.deliver import delivery, endpoint
from opentelemetry.instrumentation.scenetest.deliver.endpoint import Endpoint
from opentelemetry.instrumentation.scenetest.deliver.result import ExportError
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.rundir import layout
from opentelemetry.instrumentation.scenetest.sources import stores
from opentelemetry.instrumentation.scenetest.version import __version__

Status = Literal["ok", "note", "wrong"]
DISTRIBUTION = "opentelemetry-instrumentation-scenetest"
_TIMEOUT = 5.0
"""Seconds that the backend has to answer."""


@dataclass(frozen=True)
class Check:
    """One line of the report.

    Attributes:
        name: what was checked.
        status: `ok`; `note` for something worth knowing; `wrong` for what prevents recording, delivery or comparison.
        message: what was found.
        hint: what to do; empty for nothing.
    """

    name: str
    status: Status
    message: str
    hint: str = ""


def of_python(said: dict[str, Any]) -> Iterator[Check]:
    """Check an interpreter: whether it would be recorded, its torch and its harness.

    Args:
        said: the answers of `entrypoints/probe.py`.
    """
    python = said["executable"]
    elsewhere = os.path.realpath(python) != os.path.realpath(sys.executable)
    own = f"; scenetest-otel itself runs on {sys.executable}" if elsewhere else ""
    yield Check("python", "ok", f"{said['python']}, {python}{own}")
    yield from _package(said, python)
    yield from _switches()
    yield from _torch(said)
    yield from _harness(said)
    for question, fault in said.get("faults", {}).items():
        yield Check(question, "note", f"not known: {fault}")


def _package(said: dict[str, Any], python: str) -> Iterator[Check]:
    if not said.get("package"):
        install = f"{python} -m pip install {DISTRIBUTION}"
        yield Check("package", "wrong", f"this Python lacks {DISTRIBUTION}, so nothing in it is recorded", install)
        return
    version = said.get("version")
    if version != __version__:
        text = f"{version or 'no installed version'} in this Python, {__version__} in scenetest-otel"
        yield Check("package", "note", text, "install the same version in both")
    else:
        yield Check("package", "ok", f"{DISTRIBUTION} {version}")
    if said.get("joined"):
        yield Check("joins a run", "ok", "Python processes below `scenetest-otel run` are recorded")
        return
    into_site = f"install the package into the environment of {python}, or call instrument() in the program"
    if said.get("no_site"):
        text, hint = "this Python is started with -S, so it reads no .pth file", "leave out -S, or call instrument()"
    elif pth := said.get("pth"):
        text = f"{pth[0]} is not in a site directory (PYTHONPATH, pip install --target), so Python does not read it"
        hint = into_site
    else:
        text, hint = "scenetest_otel.pth is in no site directory of this Python", into_site
    yield Check("joins a run", "wrong", text, hint)


def _switches() -> Iterator[Check]:
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        yield Check("switch", "wrong", "OTEL_SDK_DISABLED=true: nothing is recorded", "unset OTEL_SDK_DISABLED")
    disabled = os.environ.get("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "")
    if "scenetest" in (name.strip() for name in disabled.split(",")):
        text = f"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS={disabled}: nothing is recorded"
        yield Check("switch", "wrong", text, "take scenetest out of it")
    run = os.environ.get(layout.RUN_VARIABLE)
    if run and not os.path.isdir(run):
        text = f"{layout.RUN_VARIABLE}={run} is not a directory, so nothing is recorded"
        yield Check("switch", "wrong", text, f"unset {layout.RUN_VARIABLE}: it is set for the processes of a run")


def _torch(said: dict[str, Any]) -> Iterator[Check]:
    launched, setting = said.get("launched"), said.get("setting")
    if launched != setting:
        text = f"{VARIABLE} was {_shown(launched)} when Python started, and is {_shown(setting)} before your first line"
        hint = "look for what sets it in a sitecustomize.py or a .pth file; a run records what torch sees"
        yield Check("variable", "note", text, hint)
    versions = said.get("versions", {})
    if not versions.get("torch"):
        yield Check("torch", "note", "torch is not installed in this Python")
        return
    yield Check("torch", "ok", f"torch {versions['torch']}, {VARIABLE} {_shown(setting)}")
    backends = ", ".join(said.get("backends", ()))
    if backends and (setting is None or setting == "1"):
        text = f"`import torch` loads {backends}"
        yield Check("backends", "note", text, f"{VARIABLE}=0 prevents that")
    elif backends:
        yield Check("backends", "ok", f"{backends}: registered, but not loaded with {VARIABLE} {_shown(setting)}")
    else:
        yield Check("backends", "ok", "none is registered")
    if "torch" in said:
        yield _imported(said["torch"])


def _imported(torch: dict[str, Any]) -> Check:
    conditions = torch["conditions"]
    outcome = conditions.get("torch.backend_autoload.outcome", "unknown")
    if torch["failed"]:
        return Check("import torch", "wrong", f"it fails: {torch['failed']}", f"repair it, or set {VARIABLE}=0")
    return Check("import torch", "note" if outcome == "unknown" else "ok", f"autoload: {outcome}")


def _harness(said: dict[str, Any]) -> Iterator[Check]:
    harness = said.get("harness")
    if harness is None:
        text = "simpler is not installed in this Python"
        yield Check("harness", "note", text, "your own programs can record with case() and dispatch()")
    elif harness["missing"]:
        yield Check("harness", "note", f"{harness['from']} lacks, or can't import: {'; '.join(harness['missing'])}")
    else:
        yield Check("harness", "ok", f"simpler, {harness['from']}: every hook finds its function")


def _shown(value: str | None) -> str:
    return "unset" if value is None else repr(value)


def of_endpoint() -> Check:
    """Check whether an endpoint is set, and whether it answers an empty request."""
    if not destination.has_endpoint():
        text = "none is set: runs stay in the store, and `show` reads them there"
        return Check("endpoint", "note", text, "to deliver them: OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318")
    try:
        if (to := endpoint.from_environment()) is None:
            return Check("endpoint", "note", "none is set")
        failure = _failure(to)
        if failure is None:
            return Check("endpoint", "ok", f"{to} answers {to.protocol}{' over TLS' if to.has_tls else ''}")
        other = _other_protocol(to)
        if other is not None and _failure(other) is None:
            hint = f"it answers {other.protocol}: set OTEL_EXPORTER_OTLP_PROTOCOL={other.protocol}"
            return Check("endpoint", "wrong", failure.message, hint)
        return Check("endpoint", "wrong", failure.message, failure.hint)
    except BadInputError as error:
        return Check("endpoint", "wrong", str(error))


def _failure(to: Endpoint) -> ExportError | None:
    """Send a request without spans, and return why it was not accepted."""
    exporter = delivery.exporter_for(replace(to, timeout=min(to.timeout, _TIMEOUT)))
    try:
        exporter.export([])
    except ExportError as failure:
        return failure
    finally:
        exporter.shutdown()
    return None


def _other_protocol(to: Endpoint) -> Endpoint | None:
    protocol = "grpc" if to.protocol == "http/protobuf" else "http/protobuf"
    set_for_traces = ("OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_COMPRESSION")
    changed = dict(zip(map(endpoint.for_traces, set_for_traces), (protocol, "none"), strict=True))
    environment = {**os.environ, **changed, destination.EXPORTER_VARIABLE: "otlp"}
    try:
        return endpoint.from_environment(environment)
    except BadInputError:  # the address is not valid for the other protocol
        return None


def of_stores(given: str | None) -> Iterator[Check]:
    """Check the store in which `run` would put a run, and the undelivered runs.

    Args:
        given: the store named with `--dir`; None for the default.
    """
    store = Path(given or os.environ.get(layout.STORE_VARIABLE) or layout.LOCAL_STORE).absolute()
    existing = next(place for place in (store, *store.parents) if place.exists())
    try:
        with tempfile.TemporaryDirectory(dir=existing, prefix=".scenetest-doctor-"):
            free = shutil.disk_usage(existing).free / 1e9
        yield Check("store", "ok", f"{store} can be written, {free:.1f} GB free")
    except OSError as error:
        hint = f"name another directory, by --dir or {layout.STORE_VARIABLE}"
        yield Check("store", "wrong", f"{store} can't be written: {error.strerror}", hint)
    left = [run for run in stores.all_runs(given) if any(layout.journals(run)) and not delivery.is_delivered(run)]
    if left and destination.has_endpoint():
        count = f"{len(left)} run{'' if len(left) == 1 else 's'}"
        yield Check(
            "undelivered", "note", f"{count} not delivered, the newest is {left[-1].name}", "scenetest-otel push"
        )


def of_versions() -> Check:
    """Return the versions of the packages that this command itself uses."""
    names = ("opentelemetry-api", "opentelemetry-sdk", "opentelemetry-proto", "grpcio")
    found = ", ".join(f"{name} {metadata.version(name)}" for name in names)
    return Check("scenetest-otel", "ok", f"{__version__}, {found}")
