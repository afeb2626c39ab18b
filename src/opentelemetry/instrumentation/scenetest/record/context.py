"""Where our spans meet OpenTelemetry's current context, without importing it for a process that does not use it."""

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
"""One of the two keys that `suppress_instrumentation()` of `opentelemetry.instrumentation.utils` sets. The API owns the
other one, which exporters set alone. Importing `utils` would cost 65 ms."""


def in_use() -> bool:
    """Tell whether anything in the process could use a current span: whether somebody imported the API.

    An import that is still going on does not count. In a forked child it may never end.
    """
    api = sys.modules.get(_API)
    if api is None:
        return False
    return _loaded.api is not None or not is_initializing(api)


def is_suppressed() -> bool:
    """Tell whether the program has switched instrumentations off here, with `suppress_instrumentation()`."""
    if not in_use():
        return False
    api = _loaded.api or _Api()
    current = api.get_current()
    return bool(current.get(_SUPPRESS) or current.get(api.suppress_key))


def parent() -> Parent | None:
    """Return the caller's current span, else the `TRACEPARENT` that the user set, else nothing."""
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
    """Return the id of a new trace and what its spans hand on: the trace of a case or process without a parent.

    It is sampled unless `OTEL_TRACES_SAMPLER` says otherwise. Spans that the program makes inside follow the sampler of
    its own provider, as they would without us. The id is drawn by that provider's generator, if it has one of its own:
    a backend may take certain ids only.

    Args:
        name: of the span that begins it.
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
    """Return how the program's own SDK names this process, in the resource of its tracer provider.

    Args:
        given: the provider that was passed to us; else it is the global one.
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
    """Return the global provider, but leave it to the program to load one that `OTEL_PYTHON_TRACER_PROVIDER` names."""
    api = _loaded.api or _Api()
    if "OTEL_PYTHON_TRACER_PROVIDER" in os.environ and not api.is_provider_set():
        return None
    return api.get_tracer_provider()


def attach(trace_id: str, span_id: int, carried: Carried) -> tuple[Attached, CurrentSpan]:
    """Make a span of ours the current one; return what `restore` needs, and the span, which takes what is set on it."""
    api = _loaded.api or _Api()
    flags = api.sampled if carried.handed_on == SAMPLED.flags else api.trace_flags(carried.handed_on)
    state = api.trace_state([carried.state]) if carried.state else None
    span = api.span(api.span_context(int(trace_id, 16), span_id, False, flags, state), carried)
    return attach_span(span), span


def attach_span(span: Span) -> Attached:
    """Make any span the current one, and return what `restore` needs."""
    api = _loaded.api or _Api()
    before = api.get_current()
    ours = api.set_span_in_context(span, before)
    api.attach(ours)
    return before, ours, span


def restore(attached: Attached) -> None:
    """Go back to the context before `attach`, unless somebody else's span is current by now."""
    api = _loaded.api or _Api()
    before, ours, span = attached
    # To look at the span takes five times as long as to look at the context, which is mostly still the same.
    if api.get_current() is ours or api.get_current_span() is span:
        api.attach(before)


class _Api:
    """The parts of the API that a dispatch needs, looked up once: an import statement costs as much as the call."""

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
    """Owns the parts of the API, once they were looked up."""

    api: _Api | None = None


_loaded = _Loaded()
