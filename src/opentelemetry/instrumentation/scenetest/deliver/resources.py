"""The Resource of a measured process, built from its journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.version import __version__ as sdk_version

from opentelemetry.instrumentation.scenetest.conditions.values import Value
from opentelemetry.instrumentation.scenetest.rundir.process import ProcessRecord
from opentelemetry.instrumentation.scenetest.semantics import SCHEMA_URL, clean
from opentelemetry.instrumentation.scenetest.version import __version__

DEFAULT_SERVICE_NAME = "scenetest"

_NOT_NAMED = "unknown_service"
"""The SDK's name for a service without a name."""


class SharedResource(Resource):
    """A Resource that many spans share.

    `Resource.__hash__` dumps the whole resource as JSON, and the encoder asks for it once a span.
    """

    __hash__ = object.__hash__


def resource(process: ProcessRecord, conditions: Mapping[str, Value], run: Mapping[str, Any]) -> SharedResource:
    """Return the resource of the spans of a process under one set of conditions.

    Args:
        process: the process as its journal has it.
        conditions: the set in force for these spans. Nothing that a user sets overrides it.
        run: the fields of `run.json`.
    """
    facts = process.facts
    dirty: dict[str, bool] = run.get("dirty") or {}
    attributes: dict[str, Value | None] = {
        **_identity(facts),
        "process.pid": process.pid,
        "process.parent_pid": facts.get("parent_pid"),
        "process.executable.path": facts.get("executable"),
        "process.command_line": " ".join(facts.get("command") or []),
        "process.runtime.name": "cpython",
        "process.runtime.version": facts.get("python"),
        "scenetest.run.id": run.get("id"),
        "scenetest.run.name": run.get("name"),
        "scenetest.harness.dirty": dirty.get(str(conditions.get("scenetest.harness.path"))),
        **conditions,
    }
    return SharedResource(clean(attributes), SCHEMA_URL)


def of_run_itself_resource(run: Mapping[str, Any]) -> SharedResource:
    """Return the resource of the span of a run: that of `scenetest-otel run`, named as the processes of the run."""
    attributes = {**_identity(run), "scenetest.run.id": run.get("id"), "scenetest.run.name": run.get("name")}
    return SharedResource(clean(attributes), SCHEMA_URL)


def _identity(facts: Mapping[str, Any]) -> dict[str, Value | None]:
    """Return the identity of a process. Its own SDK's resource wins over the environment, which wins over defaults."""
    of_sdk: dict[str, Value] = {**(facts.get("sdk_resource") or {})}
    if str(of_sdk.get("service.name", "")).startswith(_NOT_NAMED):
        del of_sdk["service.name"]
    known = {
        "service.name": DEFAULT_SERVICE_NAME,
        "service.instance.id": f"{facts.get('host')}:{facts.get('pid')}:{facts.get('start_ticks')}",
        "telemetry.distro.name": "opentelemetry-instrumentation-scenetest",
        "telemetry.distro.version": __version__,
    }
    given: dict[str, Value] = {**_user_attributes(facts.get("resource_attributes"))}
    if facts.get("service_name"):
        given["service.name"] = facts["service_name"]
    given.update(of_sdk)
    if "telemetry.distro.name" in given:  # the version is that of another one
        del known["telemetry.distro.version"]
    return {
        **known,
        **given,
        "telemetry.sdk.language": "python",
        "telemetry.sdk.name": "opentelemetry",
        "telemetry.sdk.version": sdk_version,
    }


def _user_attributes(given: str | None) -> dict[str, str]:
    # OpenTelemetry specification, resource/sdk: key=value pairs, comma-separated, values percent-encoded
    pairs = (pair.partition("=") for pair in (given or "").split(","))
    return {key.strip(): unquote(value.strip()) for key, equals, value in pairs if equals and key.strip()}
