"""A comparison as one JSON object, for `compare --json`."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from opentelemetry.instrumentation.scenetest.render.comparison_document import Document


def as_json(document: Document) -> dict[str, Any]:
    """Return a comparison as the object that `compare --json` prints. docs/reference/compare.md describes it.

    It leaves out the single rounds, which only figures need: there may be 100,000 of them.
    """
    found = asdict(replace(document, cases=[replace(case, series={}) for case in document.cases]))
    for case in found["cases"]:
        del case["series"]
    return found
