"""Imports torch through code that swallows the failure of a backend, and then measures."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()
with suppress(Exception):
    import_module("torch")
with case("S", "c"), dispatch():
    pass
