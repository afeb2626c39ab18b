"""Reads and sets OpenTelemetry's current context.

It imports the OpenTelemetry API only if the program has imported it.
"""

from __future__ import annotations

import os
import sys

from opentelemetry.instrumentation.scenetest.record import sampling
from opentelemetry.instrumentation.scenetest.record.finder import is_initializing
from opentelemetry.instrumentation.scenetest.traceparent import SAMPLED, Carried, Parent, from_environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, TracerProvider

    from opentelemetry.instrumentation.scenetest.record.current_span import CurrentSpan

    Attached = tuple[Context, Context, Span]

_API = "opentelemetry.trace"
_IDENTITY = ("service.", "telemetry.distro.", "deployment.")
_SUPPRESS = "suppress_instrumentation"
"""The key that `opentelemetry.instrumentation.utils.suppress_instrumentation()` sets beside that of the API.

It is repeated here because importing `utils` takes 65 ms. Exporters set only the key of the API."""


def in_use() -> bool:
    """Return whether the program has imported the OpenTelemetry API, so that it could use a current span.

    An unfinished import doesn't count: in a forked child it may never end.
    """
    api = sys.modules.get(_API)
    if api is None:
        return False
    return _loaded.api is not None or not is_initializing(api)


def is_suppressed() -> bool:
    """Return whether the program called `suppress_instrumentation()` in this context."""
    if not in_use():
        return False
    api = _loaded.api or _Api()
    current = api.get_current()
    return bool(current.get(_SUPPRESS) or current.get(api.suppress_key))


def parent() -> Parent | None:
    """Return the current span, else the span in the variable `TRACEPARENT`, else None."""
    if in_use():
        api = _loaded.api or _Api()
        span = api.get_current_span()
        current = span.get_span_context()
        if current.is_valid:
            if isinstance(span, api.span):
                return Parent(f"{current.trace_id:032x}", f"{current.span_id:016x}", span.carried)
            carried = Carried(int(current.trace_flags), current.trace_state.to_header() if current.trace_state else "")
            return Parent(f"{current.trace_id:032x}", f"{current.span_id:016x}", carried, remote=current.is_remote)
    return from_environment(os.environ)


def begin_trace(name: str) -> tuple[str, Carried]:
    """Begin a trace for a case or process that has no parent span.

    The trace is sampled unless `OTEL_TRACES_SAMPLER` says otherwise. Spans that the program makes inside it follow the
    sampler of the program's own provider, as they would without us. If that provider has its own id generator, the
    generator makes the trace id, because some backends accept only certain ids.

    Args:
        name: name of the root span.

    Returns:
        The trace id in hexadecimal, and the flags and state that the spans of the trace propagate.
    """
    provider = _global_provider() if in_use() else None
    trace_id, is_random = sampling.new_trace_id(provider)
    carried = sampling.of_root(trace_id)
    if provider is not None and (carried is None or carried.is_sampled):
        of_program = sampling.by_provider(provider, int(trace_id, 16), name)
        if of_program is not None:
            ours = of_program.flags if carried is None else carried.flags
            carried = Carried(ours, of_program.state, handed_on=of_program.flags)
    carried = carried or sampling.of_unknown()
    return trace_id, carried if is_random else carried.not_random()


def sdk_identity(given: TracerProvider | None) -> dict[str, str | bool | int | float] | None:
    """Return the attributes that identify this process in the resource of the program's tracer provider.

    Args:
        given: the provider that was passed to us; None for the global one.

    Returns:
        The attributes `service.*`, `telemetry.distro.*` and `deployment.*`. None if the program doesn't use the API.
    """
    if not in_use():
        return None
    resource = getattr(given, "resource", None) or getattr(_global_provider(), "resource", None)
    attributes: Mapping[str, object] = getattr(resource, "attributes", None) or {}
    return {
        key: value
        for key, value in attributes.items()
        if key.startswith(_IDENTITY) and isinstance(value, (str, bool, int, float))
    }


def _global_provider() -> TracerProvider | None:
    """Return the global provider; None if asking for it would load one.

    At the first call, the API loads the provider that `OTEL_PYTHON_TRACER_PROVIDER` names. Leave that to the program.
    """
    api = _loaded.api or _Api()
    if "OTEL_PYTHON_TRACER_PROVIDER" in os.environ and not api.is_provider_set():
        return None
    return api.get_tracer_provider()


def attach(trace_id: str, span_id: int, carried: Carried) -> tuple[Attached, CurrentSpan]:
    """Make one of our spans the current span.

    Args:
        trace_id: in hexadecimal.
        span_id: the span id as a number.
        carried: the flags and state that the span propagates.

    Returns:
        What `restore` needs, and the span object that the program sees.
    """
    api = _loaded.api or _Api()
    flags = api.sampled if carried.handed_on == SAMPLED.flags else api.trace_flags(carried.handed_on)
    state = api.trace_state([carried.state]) if carried.state else None
    span = api.span(api.span_context(int(trace_id, 16), span_id, False, flags, state), carried)
    return attach_span(span), span


def attach_span(span: Span) -> Attached:
    """Make a span the current span, and return what `restore` needs."""
    api = _loaded.api or _Api()
    before = api.get_current()
    ours = api.set_span_in_context(span, before)
    api.attach(ours)
    return before, ours, span


def restore(attached: Attached) -> None:
    """Restore the context from before `attach`, unless another span has become the current one."""
    api = _loaded.api or _Api()
    before, ours, span = attached
    # Reading the span takes five times as long as reading the context, which usually hasn't changed.
    if api.get_current() is ours or api.get_current_span() is span:
        api.attach(before)


class _Api:
    """The API functions that a dispatch needs, looked up once: an import statement takes as long as the call itself."""

    def __init__(self) -> None:
        from opentelemetry import context, trace
        from opentelemetry.instrumentation.scenetest.record.current_span import CurrentSpan

        self.attach = context.attach
        self.get_current = context.get_current
        self.suppress_key: str = getattr(context, "_SUPPRESS_INSTRUMENTATION_KEY", _SUPPRESS)
        self.get_current_span = trace.get_current_span
        self.get_tracer_provider = trace.get_tracer_provider
        self.is_provider_set = lambda: getattr(trace, "_TRACER_PROVIDER", None) is not None
        self.set_span_in_context = trace.set_span_in_context
        self.span = CurrentSpan
        self.span_context = trace.SpanContext
        self.sampled = trace.TraceFlags(SAMPLED.flags)
        self.trace_flags = trace.TraceFlags
        self.trace_state = trace.TraceState.from_header
        _loaded.api = self


class _Loaded:
    """Holds the API functions after the first lookup."""

    api: _Api | None = None


_loaded = _Loaded()
