"""Tables of the reference pages for names that no table of the package describes.

Each entry is one row: the name, where it is used, and its meaning. A test checks the names against the source.
"""

from __future__ import annotations

from typing import Final

from opentelemetry.instrumentation.scenetest.rundir.exit_wait import EXIT_WAIT, EXIT_WAIT_VARIABLE

Row = tuple[str, ...]

CASE_AND_DISPATCH: Final[tuple[Row, ...]] = (
    ("test.suite.name", "case, phase, dispatch", "suite of the case"),
    ("test.case.name", "case, phase, dispatch", "name of the case"),
    ("test.case.result.status", "case", "outcome of the case, see below"),
    ("scenetest.outcome", "case, dispatch", "outcome, see below"),
    ("scenetest.ruler", "case, dispatch, native", "hash over all ruler conditions; `unknown` if one of them is"),
    ("scenetest.changed", "case, dispatch", "ruler conditions that changed while it ran, from what to what"),
    ("scenetest.round", "dispatch, native", "number of the dispatch, from 0 within its case"),
    (
        "scenetest.end",
        "any",
        "`not_seen`: nobody saw the span end; its end is that of the last span below it, else its start",
    ),
    ("scenetest.iterations", "case", "iterations in each round of `pytest-benchmark` or `torch.utils.benchmark`"),
    ("scenetest.threads", "case", "`num_threads` of a `torch.utils.benchmark.Timer`"),
    (
        "scenetest.duration_ns",
        "case, phase, dispatch",
        "nanoseconds, where the span is wider: on a provider of the program's own",
    ),
    ("error.type", "any", "qualified name of the exception that left the span; absent unless that is an error"),
    ("scenetest.async", "dispatch", "true: only a `wait` could have seen its end, so its duration is in no figure"),
    ("scenetest.run_id", "dispatch", "the harness's own number of the run, where its handle has one"),
    ("scenetest.workers.pids", "case, dispatch outside any", "pids of the workers that its Worker forked"),
    (
        "scenetest.callable",
        "dispatch",
        "outside any case: what was dispatched, or the function that `dispatch` is on",
    ),
    ("scenetest.name", "dispatch", "the `name` that you gave it; a dispatch inside another one is compared by it"),
    ("scenetest.derived", "dispatch", "the native span that it was concluded from, in a run made of a log alone"),
)

NATIVE: Final[tuple[Row, ...]] = (
    ("simpler.inv", "number of the native run within its process"),
    ("simpler.hid", "the marker's `hid`"),
    ("simpler.depth", "the marker's `depth`"),
    ("simpler.<key>", "any further `key=value` of the marker, by its own name"),
    ("simpler.ts", "device spans: the marker's own offset, on the device's clock"),
    ("scenetest.clock", "`device`: the start is reconstructed from an offset on the device's clock"),
    ("scenetest.rank", "`unknown`: a bind phase that lies in the binds of several ranks"),
    ("thread.id", "thread that wrote the marker"),
)

RESOURCE: Final[tuple[Row, ...]] = (
    ("service.name", "`OTEL_SERVICE_NAME` as the process had it, else `scenetest`"),
    ("service.instance.id", "host, pid and start time of the process"),
    ("scenetest.run.id", "id of the run: the same for all its processes"),
    ("scenetest.run.name", "name of the run"),
    ("process.pid", "process id; for native spans of a forked worker, that of the worker"),
    ("process.parent_pid", "id of its parent"),
    ("process.executable.path", "`sys.executable`"),
    ("process.command_line", "its command, with secrets masked as `****`"),
    ("process.runtime.name", "`cpython`"),
    ("process.runtime.version", "version of Python"),
    ("process.exit.code", "exit code of the command (span of the run only)"),
    ("telemetry.sdk.language", "`python`"),
    ("telemetry.sdk.name", "`opentelemetry`"),
    ("telemetry.sdk.version", "version of the SDK that built the spans"),
    ("telemetry.distro.name", "`opentelemetry-instrumentation-scenetest`"),
    ("telemetry.distro.version", "version of this package"),
)

ENVIRONMENT: Final[tuple[Row, ...]] = (
    (
        "SCENETEST_OTEL_DIR",
        "The store: the directory in which run directories are made and looked for.",
    ),
    (
        "SCENETEST_OTEL_RUN",
        "The run directory. Whoever makes the run sets it for the processes below, and each of them joins the run.",
    ),
    (
        "XDG_STATE_HOME",
        "`$XDG_STATE_HOME/scenetest-otel` is the last store. Default: `~/.local/state`.",
    ),
    (
        EXIT_WAIT_VARIABLE,
        f"How many seconds the process that made the run waits at its exit for the delivery. Default: {EXIT_WAIT:g}.",
    ),
    (
        "SCENETEST_OTEL_COMMAND_LINE",
        "`off`: of command lines only the name of the program is recorded. Else secrets in them are masked.",
    ),
    (
        "SCENETEST_OTEL_JAEGER",
        "Address of the Jaeger in which `compare` and `report` look for arms like `jaeger:KEY=VALUE`.",
    ),
    (
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "Base URL for delivery; over HTTP `/v1/traces` is added. With it `instrument()` alone makes a run.",
    ),
    (
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "The same as a whole URL, taken as it is. All others of these have a form for traces, too, which comes first.",
    ),
    (
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        "`grpc` or `http/protobuf`. Default: `grpc` for port 4317, else `http/protobuf`.",
    ),
    (
        "OTEL_EXPORTER_OTLP_HEADERS",
        "`key=value` with commas between, values percent-encoded: credentials, mostly. Over gRPC they are metadata.",
    ),
    ("OTEL_EXPORTER_OTLP_COMPRESSION", "`none`, `gzip`, over HTTP also `deflate`. Default: `none`."),
    ("OTEL_EXPORTER_OTLP_TIMEOUT", "Seconds that one attempt may take, up to 86400. Default: 10."),
    (
        "OTEL_EXPORTER_OTLP_CERTIFICATE",
        "PEM file with the authorities of a TLS endpoint. Default: as `requests` has it, over gRPC as gRPC has it.",
    ),
    ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "PEM file with our own certificate, for endpoints that ask for one."),
    (
        "OTEL_EXPORTER_OTLP_CLIENT_KEY",
        "PEM file with the key of that, without a passphrase. Default: the key in the file of the certificate.",
    ),
    (
        "OTEL_EXPORTER_OTLP_INSECURE",
        "Over gRPC, `true`: no TLS to an endpoint that is written without `http://` or `https://`. Default: TLS.",
    ),
    (
        "OTEL_TRACES_EXPORTER",
        "`otlp`, `otlp_proto_http`, `otlp_proto_grpc`, `none`, in `run` and `push` also `console`. Default: `otlp`.",
    ),
    (
        "OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER",
        "Name of an entry point of `opentelemetry_otlp_credential_provider` that makes a `requests.Session`.",
    ),
    (
        "OTEL_PYTHON_EXPORTER_OTLP_GRPC_CREDENTIAL_PROVIDER",
        "The same for gRPC. It makes `grpc.ChannelCredentials`, which take the place of the PEM files.",
    ),
    ("OTEL_SERVICE_NAME", "`service.name` of the process's spans, unless its own tracer provider has another one."),
    (
        "OTEL_RESOURCE_ATTRIBUTES",
        "Further resource attributes, `key=value` with commas between. A condition of the same name wins.",
    ),
    ("OTEL_SDK_DISABLED", "`true`: nothing is observed, recorded or logged."),
    (
        "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS",
        "A comma-separated list; with `scenetest` or `*` in it nothing is observed, recorded or logged.",
    ),
    (
        "OTEL_PYTHON_TRACER_PROVIDER",
        "A tracer provider that the API loads for the program. Where a journal is written, it is not loaded here.",
    ),
    (
        "TRACEPARENT",
        "Parent of the process's cases where no span is current, and of the span of a run. W3C Trace Context.",
    ),
    ("TRACESTATE", "Goes with `TRACEPARENT`, and is handed on."),
    ("OTEL_TRACES_SAMPLER", "Which cases without a parent are delivered. Default: all of them."),
    ("OTEL_TRACES_SAMPLER_ARG", "Ratio of `traceidratio` and `parentbased_traceidratio`, 0 to 1. Default: 1."),
    ("OTEL_PYTHON_TRACER_PROVIDER", "Names a tracer provider, which your program loads. This package never loads it."),
    ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "Attributes of a span at most. Ours are dropped last. Default: 128."),
    ("OTEL_ATTRIBUTE_COUNT_LIMIT", "The same for everything that has no limit of its own."),
    ("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "Attributes of an event at most. Default: 128."),
    ("OTEL_SPAN_EVENT_COUNT_LIMIT", "Events of a span at most. The latest ones are kept. Default: 128."),
    ("OTEL_SPAN_LINK_COUNT_LIMIT", "Links of a span at most. Default: 128."),
    (
        "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
        "Characters of a value at most, when spans are delivered. Default: any.",
    ),
    ("ASCEND_HOME_PATH", "Where CANN is; its version is read from there."),
    (
        "TORCH_DEVICE_BACKEND_AUTOLOAD",
        "Read by torch, and observed here. Never set by this package.",
    ),
    (
        "TORCH_LOGS",
        "Read by torch right after its backends; a bad value fails the import. Then the `outcome` may be `unknown`.",
    ),
)

EXIT_CODES: Final = {
    "DONE": "done",
    "FAULT": "a fault of `scenetest-otel` itself",
    "BAD_INPUT": "bad input; one sentence on stderr says what, and what to do",
    "NOT_DELIVERED": "`push`: something is not delivered",
    "NOT_THE_SAME_RULER": "`compare`, `ab`, `report`: not the same ruler",
    "SLOWER": "with `--fail-slower`: slower by at least that",
    "CHECK_FAILED": "a check failed: `show --require`, `run --require-record`, `doctor`",
    "NO_VERDICT": "`compare`, `ab`: nothing was compared; with `--fail-slower` also: no verdict",
    "RUN_FAULT": "`run` only: a fault of its own",
    "NOT_EXECUTABLE": "`run` only: the command can't be executed",
    "NOT_FOUND": "`run` only: there is no such command",
}
