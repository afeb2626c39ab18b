"""Decides whether a new trace is sampled.

A span with a parent keeps the decision of its parent.
"""

from __future__ import annotations

import os

from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.traceparent import RANDOM_FLAG, SAMPLED, Carried

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SAMPLER_VARIABLE = "OTEL_TRACES_SAMPLER"
ARGUMENT_VARIABLE = "OTEL_TRACES_SAMPLER_ARG"

_NOT_SAMPLED = Carried(RANDOM_FLAG)
_ALWAYS = {"always_on": SAMPLED, "always_off": _NOT_SAMPLED}
_RATIO = "traceidratio"
_LOW_BITS = (1 << 64) - 1
_DEFAULT_GENERATOR = "opentelemetry.sdk.trace.id_generator"
"""Module of the SDK's default generator. It makes random ids, as we do."""


def new_trace_id(provider: Any) -> tuple[str, bool]:
    """Return the id of a new trace in hexadecimal, and whether it is random.

    Args:
        provider: the program's own tracer provider, or None.
    """
    generator = getattr(provider, "id_generator", None)
    if generator is not None and type(generator).__module__ != _DEFAULT_GENERATOR:
        try:
            drawn = int(generator.generate_trace_id())
            if 0 < drawn < 1 << 128:
                return f"{drawn:032x}", bool(getattr(generator, "is_trace_id_random", bool)())
        except Exception as error:
            faults.swallow("draw a trace id by the program's own generator", error)
    return os.urandom(16).hex(), True


def of_root(trace_id: str) -> Carried | None:
    """Return the flags of a new trace: sampled, unless `OTEL_TRACES_SAMPLER` says otherwise.

    The names of the SDK's samplers mean the same as in the SDK, so the program's own spans in the trace get the same
    decision.

    Args:
        trace_id: in hexadecimal.

    Returns:
        The flags; None for any other sampler, which isn't loaded here.
    """
    name = os.environ.get(SAMPLER_VARIABLE, "").strip().lower().removeprefix("parentbased_")
    if name == _RATIO:
        return SAMPLED if int(trace_id, 16) & _LOW_BITS < round(_ratio() * (_LOW_BITS + 1)) else _NOT_SAMPLED
    return _ALWAYS.get(name or "always_on")


def of_unknown() -> Carried:
    """Return the flags of a new trace if the sampler in `OTEL_TRACES_SAMPLER` is not known here, and warn once."""
    faults.warn_once(
        f"{SAMPLER_VARIABLE}={os.environ.get(SAMPLER_VARIABLE)!r} is not known here: all cases are sampled"
    )
    return SAMPLED


def by_provider(provider: Any, trace_id: int, name: str) -> Carried | None:
    """Return the decision of the provider's sampler for a root span; None if the provider has no sampler."""
    sampler = getattr(provider, "sampler", None)
    if sampler is None:
        return None
    try:
        decided = sampler.should_sample(None, trace_id, name)
        state = decided.trace_state
        flags = SAMPLED.flags if decided.decision.is_sampled() else RANDOM_FLAG
        return Carried(flags, state.to_header() if state else "")
    except Exception as error:
        faults.swallow("ask the program's own sampler", error)
        return None


def _ratio() -> float:
    """Return the ratio from `OTEL_TRACES_SAMPLER_ARG`; 1, as in the SDK, if it isn't a number from 0 to 1."""
    try:
        ratio = float(os.environ.get(ARGUMENT_VARIABLE, "") or 1)
    except ValueError:
        return 1.0
    return ratio if 0 <= ratio <= 1 else 1.0
