"""What is installed along with this package."""

from __future__ import annotations

from importlib.metadata import distribution, entry_points

from packaging.requirements import Requirement


def installed_along_with(name: str, known: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the names of a distribution and of all that it needs, extras left out."""
    known |= {name}
    for line in distribution(name).requires or ():
        requirement = Requirement(line)
        if requirement.name not in known and (not requirement.marker or requirement.marker.evaluate({"extra": ""})):
            known = installed_along_with(requirement.name, known)
    return known


def test_the_exporters_that_opentelemetry_instrument_looks_for_are_there() -> None:
    along = installed_along_with("opentelemetry-instrumentation-scenetest")
    found = {
        entry.name
        for entry in entry_points(group="opentelemetry_traces_exporter")
        if entry.dist is not None and entry.dist.name in along
    }
    assert {"otlp", "otlp_proto_http", "otlp_proto_grpc"} <= found
