"""The backend of `support.backends` over gRPC: a real server with the official service."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, cast

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)

from support.backends import Backend


class GrpcBackend(Backend):
    """A backend. `answer` is `accept`, `reject` (three of each batch), `silence`, or the name of a status code.

    Attributes:
        details: the message that it sends with a status code.
        retry_after: milliseconds after which the client should try again, sent with a status code.
    """

    def __init__(self) -> None:
        super().__init__()
        self.details = ""
        self.retry_after: int | None = None


class _Service(TraceServiceServicer):
    def __init__(self, backend: GrpcBackend) -> None:
        self.backend = backend

    def Export(  # noqa: N802
        self, request: ExportTraceServiceRequest, context: grpc.ServicerContext
    ) -> ExportTraceServiceResponse:
        backend = self.backend
        backend.requests += 1
        backend.headers = dict(cast(Any, context.invocation_metadata()))
        if backend.answer == "silence":
            backend.stopping.wait(60)
        elif backend.answer not in ("accept", "reject"):
            if backend.retry_after is not None:
                context.set_trailing_metadata((("grpc-status-details-bin", _retry_info(backend.retry_after)),))
            context.abort(grpc.StatusCode[backend.answer], backend.details)
        backend.take(request.SerializeToString())
        if backend.answer == "reject":
            partial = ExportTracePartialSuccess(rejected_spans=3, error_message="too old")
            return ExportTraceServiceResponse(partial_success=partial)
        return ExportTraceServiceResponse()


def _retry_info(milliseconds: int) -> bytes:
    info, detail = RetryInfo(), AnyMessage()
    info.retry_delay.FromMilliseconds(milliseconds)
    detail.Pack(info)
    return Status(details=[detail]).SerializeToString()


@contextmanager
def serving_grpc(
    backend: GrpcBackend | None,
    port: int = 0,
    tls: grpc.ServerCredentials | None = None,
    *options: tuple[str, int],
) -> Generator[str]:
    """Start a backend on a given or a free port, and return its address. None starts a server without OTLP."""
    server = grpc.server(ThreadPoolExecutor(4), options=(("grpc.so_reuseport", 0), *options))
    if backend:
        cast(Any, add_TraceServiceServicer_to_server)(_Service(backend), server)
    address = f"127.0.0.1:{port}"
    port = server.add_secure_port(address, tls) if tls else server.add_insecure_port(address)
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        if backend:
            backend.stopping.set()
        server.stop(None).wait()
