"""Spans as one OTLP request, by the official encoder, which is asked only once for what many of them share.

It takes 3 us for an attribute, and a dispatch carries all those of its case: of some 20 mostly two are its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import INVALID_SPAN_CONTEXT, SpanContext

from opentelemetry.instrumentation.scenetest.conditions.values import Value
from opentelemetry.instrumentation.scenetest.deliver.refusal import Unencodable
from opentelemetry.instrumentation.scenetest.deliver.resources import SharedResource

_NO_RESOURCE = SharedResource({})


class SharingSpan(ReadableSpan):
    """A span with attributes that other spans have, too.

    Args:
        own: attributes that are its alone.
        shared: the others, none of which is among its own: one object for all spans that share them.
        **rest: as of `ReadableSpan`.
    """

    def __init__(self, own: Mapping[str, Value], shared: Mapping[str, Value], **rest: Any) -> None:
        super().__init__(attributes={**shared, **own}, **rest)
        self.own = own
        self.shared = shared


def request(spans: Sequence[ReadableSpan]) -> ExportTraceServiceRequest:
    """Return the request with these spans; only the order of attributes is not that of the official encoder.

    Raises:
        Unencodable: at least one of them cannot be encoded.
    """
    try:
        return _request(spans)
    except Exception as error:
        raise Unencodable from error


def _request(spans: Sequence[ReadableSpan]) -> ExportTraceServiceRequest:
    sharing = {_ids(span.context): span.shared for span in spans if isinstance(span, SharingSpan) and span.context}
    encoded = {id(shared): _encoded(shared) for shared in {id(each): each for each in sharing.values()}.values()}
    whole = encode_spans([_without_shared(span) for span in spans])
    for span in _spans(whole):
        if (shared := sharing.get((span.trace_id, span.span_id))) is not None:
            span.attributes.extend(encoded[id(shared)])
    return whole


def _encoded(attributes: Mapping[str, Value]) -> Sequence[KeyValue]:
    carrier = ReadableSpan("", INVALID_SPAN_CONTEXT, resource=_NO_RESOURCE, attributes=attributes)
    (span,) = _spans(encode_spans([carrier]))
    return list(span.attributes)


def _without_shared(span: ReadableSpan) -> ReadableSpan:
    if not isinstance(span, SharingSpan):
        return span
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=span.own,
        links=span.links,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _ids(context: SpanContext) -> tuple[bytes, bytes]:
    return context.trace_id.to_bytes(16, "big"), context.span_id.to_bytes(8, "big")


def _spans(request: ExportTraceServiceRequest) -> Iterator[Span]:
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            yield from scope.spans
