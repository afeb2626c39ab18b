"""Whether a trace that begins here is sampled.

Only what has no parent asks: with a parent, its decision is kept.
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
"""Where the generator of the SDK is, which draws at random as we do."""


def new_trace_id(provider: Any) -> tuple[str, bool]:
    """Return the id of a new trace, and whether it was drawn at random.

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
    """Return what a new trace hands on: sampled, unless `OTEL_TRACES_SAMPLER` says otherwise.

    The built-in samplers decide as those of the SDK do, so the program's own spans of a trace get the same decision.
    None for a sampler that the program brings along, which is not loaded here.

    Args:
        trace_id: in hexadecimal.
    """
    name = os.environ.get(SAMPLER_VARIABLE, "").strip().lower().removeprefix("parentbased_")
    if name == _RATIO:
        return SAMPLED if int(trace_id, 16) & _LOW_BITS < round(_ratio() * (_LOW_BITS + 1)) else _NOT_SAMPLED
    return _ALWAYS.get(name or "always_on")


def of_unknown() -> Carried:
    """Return what a new trace hands on where nobody here knows the sampler that was asked for."""
    faults.warn_once(
        f"{SAMPLER_VARIABLE}={os.environ.get(SAMPLER_VARIABLE)!r} is not known here: all cases are sampled"
    )
    return SAMPLED


def by_provider(provider: Any, trace_id: int, name: str) -> Carried | None:
    """Return what the sampler of the program's own provider says of a span without a parent; None if it has none."""
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
    """Return the ratio that is asked for; 1, as the SDK has it, for one that is no number from 0 to 1."""
    try:
        ratio = float(os.environ.get(ARGUMENT_VARIABLE, "") or 1)
    except ValueError:
        return 1.0
    return ratio if 0 <= ratio <= 1 else 1.0
