"""Reads an arm from a Jaeger: the same rounds, conditions and native times as from the journals of its runs.

Traces are found by `/api/traces` and read by `/api/v3/traces/{id}`: only the first looks at attributes, only the second
has times to the nanosecond (Jaeger 2.13, cmd/query/app/apiv3/http_gateway.go). The search has no pages and cuts its
answer in silence, so it is asked for slices of time, each halved until the answer is smaller than what was asked for.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any, cast
from urllib.parse import parse_qsl

import requests

from opentelemetry.instrumentation.scenetest.analyse.compare.concurrency import Busy
from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import Key, Rank, Repetition, Round, Rounds
from opentelemetry.instrumentation.scenetest.analyse.runs import name_inside
from opentelemetry.instrumentation.scenetest.conditions.values import Value
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.native.markers import NativeSpan
from opentelemetry.instrumentation.scenetest.native.place import Placed, Window
from opentelemetry.instrumentation.scenetest.rundir.span import NOT_WAITED_FOR
from opentelemetry.instrumentation.scenetest.semantics import DURATION
from opentelemetry.instrumentation.scenetest.sources.repetitions import (
    CALLABLE,
    PRESSURE,
    command_of,
    conditions_of,
    device_names,
    key_of,
    key_outside,
    mean_pressure,
    process_id,
    ranks_of,
    with_inner,
)

SERVICE = "service.name"

_AT_ONCE = 500
_SHORTEST = timedelta(milliseconds=1)
_BACK = timedelta(days=90)
_AHEAD = timedelta(hours=1)
_SECONDS = 60
_LARGEST_ANSWER = 1 << 30
_BLOCK = 1 << 20
_EXIT_CODE = "process.exit.code"
_OF_PROCESS = (
    *("scenetest.run.id", "scenetest.run.name", "scenetest.boot_id", "host.name"),
    *("process.pid", "process.parent_pid", "process.command_line"),
)
_RESULT = {"case": "test.case.result.status", "outcome": "scenetest.outcome", "native": "simpler.inv"}


@dataclass(frozen=True)
class JaegerSpan:
    """One span as the backend has it; times in Unix nanoseconds."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Value]
    resource: Mapping[str, Value]

    @property
    def id(self) -> tuple[str, str]:
        """Its identity. The same span can be found in two slices of time, and may have been delivered twice."""
        return self.trace_id, self.span_id


def read(arm: str, url: str) -> list[Repetition]:
    """Return what was measured in the runs whose spans have the attributes `KEY=VALUE&...`.

    Args:
        arm: attributes that spans must have; `service.name` limits the search to one service.
        url: the address of Jaeger's user interface.

    Raises:
        BadInputError: the arm can't be understood, nothing has these attributes, or Jaeger does not answer.
    """
    asked = dict(parse_qsl(arm))
    if not asked:
        raise BadInputError(f"jaeger:{arm} asks for nothing; name attributes, as in jaeger:scenetest.run.name=base")
    service = asked.pop(SERVICE, None)
    backend = _Backend(url.rstrip("/"), asked)
    found = {span.id: span for name in ([service] if service else backend.services()) for span in backend.spans(name)}
    repetitions = list(_repetitions(backend, list(found.values()), asked))
    names = {_run(span): str(span.resource.get("scenetest.run.name") or _run(span)) for span in found.values()}
    if not repetitions:
        raise BadInputError(f"there is no dispatch with {arm} in the Jaeger at {url}")
    return _labelled(repetitions, names)


@dataclass(frozen=True)
class _Backend:
    url: str
    attributes: Mapping[str, str]

    def services(self) -> list[str]:
        return list(self._get("/api/v3/services")[0].get("services", []))

    def spans(self, service: str) -> Iterator[JaegerSpan]:
        now = datetime.now(timezone.utc)
        for trace_id in dict.fromkeys(self._trace_ids(service, now - _BACK, now + _AHEAD)):
            for part in self._get(f"/api/v3/traces/{trace_id}"):
                yield from _spans(part)

    def _trace_ids(self, service: str, begin: datetime, end: datetime) -> Iterator[str]:
        """Yield the ids of all traces in a slice of time. It is halved until Jaeger's answer is complete."""
        window = {"start": str(_microseconds(begin)), "end": str(_microseconds(end)), "lookback": "custom"}
        query = {"service": service, "tags": json.dumps(self.attributes), "limit": str(_AT_ONCE), **window}
        (answer,) = self._get("/api/traces", query)
        found = [str(trace["traceID"]) for trace in answer.get("data") or ()]
        if len(found) < _AT_ONCE:
            yield from found
            return
        if end - begin <= _SHORTEST:
            raise BadInputError(f"{_AT_ONCE} traces or more begin within one millisecond; ask for more attributes")
        middle = begin + (end - begin) / 2
        yield from self._trace_ids(service, begin, middle)
        yield from self._trace_ids(service, middle, end)

    def exit_code(self, run_id: str) -> int | None:
        """Return the exit code of a run from the span of the run; None if nobody waited for its command."""
        parts = self._get(f"/api/v3/traces/{run_id}", missing_is_empty=True) if run_id else []
        codes = [span.attributes.get(_EXIT_CODE) for part in parts for span in _spans(part)]
        return next((code for code in codes if isinstance(code, int)), None)

    def _get(
        self, path: str, query: Mapping[str, str] | None = None, *, missing_is_empty: bool = False
    ) -> list[dict[str, Any]]:
        if not self.url.startswith(("http://", "https://")):
            raise BadInputError(f"--jaeger {self.url}: this is no address, as http://localhost:16686 is")
        try:
            with requests.get(f"{self.url}{path}", params=query, timeout=_SECONDS, stream=True) as answer:
                if missing_is_empty and answer.status_code == requests.codes.not_found:
                    return []
                if not answer.ok:
                    raise BadInputError(f"Jaeger at {self.url} answered {answer.status_code} {answer.reason}")
                return list(_objects(_text(answer)))
        except requests.RequestException as error:
            raise BadInputError(f"Jaeger at {self.url} does not answer: {error}") from None
        except ValueError as error:
            raise BadInputError(f"what answers at {self.url} is no Jaeger: {error}") from None


def _text(answer: requests.Response) -> str:
    """Return the text of an answer.

    Raises:
        BadInputError: it is larger than a trace can be.
    """
    found = bytearray()
    for block in answer.iter_content(_BLOCK):
        found += block
        if len(found) > _LARGEST_ANSWER:
            raise BadInputError(f"Jaeger answered more than {_LARGEST_ANSWER >> 20} MiB; ask for more attributes")
    return found.decode()


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of an answer: a long one comes as several, one after the other."""
    decoder = json.JSONDecoder()
    at = 0
    while at < len(text):
        one, at = decoder.raw_decode(text, at)
        if not isinstance(one, dict):
            raise ValueError("the answer is no JSON object")
        yield cast("dict[str, Any]", one)
        while text[at : at + 1].isspace():
            at += 1


def _spans(answer: Mapping[str, Any]) -> Iterator[JaegerSpan]:
    for group in answer.get("result", answer).get("resourceSpans", []):
        resource = _attributes(group.get("resource", {}))
        for scope in group.get("scopeSpans", []):
            for span in scope.get("spans", []):
                attributes = _attributes(span)
                # A span that was made on the program's own provider says itself what it knows of its process.
                of_process = {key: attributes[key] for key in _OF_PROCESS if key in attributes}
                yield JaegerSpan(
                    trace_id=span["traceId"],
                    span_id=span["spanId"],
                    parent_id=span.get("parentSpanId", ""),
                    name=span["name"],
                    start_ns=int(span["startTimeUnixNano"]),
                    end_ns=int(span["endTimeUnixNano"]),
                    attributes=attributes,
                    resource={**resource, **of_process} if of_process else resource,
                )


def _attributes(holder: Mapping[str, Any]) -> dict[str, Value]:
    return {item["key"]: _value(item["value"]) for item in holder.get("attributes", [])}


def _value(value: Mapping[str, Any]) -> Value:
    """Return a value of OTLP's JSON, in which integers are text (OpenTelemetry protocol, JSON encoding)."""
    kind, content = next(iter(value.items()), ("stringValue", ""))
    return int(content) if kind == "intValue" else float(content) if kind == "doubleValue" else content


def _microseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000)


def _has(asked: Mapping[str, str], *holders: Mapping[str, Value]) -> bool:
    """Whether a span has what was asked for: a trace that was found may hold others beside it."""
    known = {key: value for holder in holders for key, value in holder.items()}
    return all(key in known and _searched(known[key]) == value for key, value in asked.items())


def _searched(value: Value) -> str:
    """Return a value as Jaeger compares it: as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _repetitions(backend: _Backend, spans: list[JaegerSpan], asked: Mapping[str, str]) -> Iterator[Repetition]:
    known = {span.id: span for span in spans}
    cases = {span.id: span for span in spans if _RESULT["case"] in span.attributes}
    dispatches = {span.id: span for span in spans if _RESULT["outcome"] in span.attributes and span.id not in cases}

    def outermost(span: JaegerSpan) -> JaegerSpan:
        while (above := dispatches.get((span.trace_id, span.parent_id))) is not None:
            span = above
        return span

    def meant(span: JaegerSpan) -> bool:
        case = cases.get((span.trace_id, outermost(span).parent_id))
        return _has(asked, span.resource, case.attributes if case else {}, span.attributes)

    native = _native(spans, {*cases, *dispatches})
    rounds_of = {"/".join(span.id): "/".join(outermost(span).id) for span in dispatches.values()}
    ranks, device = ranks_of(native, lambda owner: rounds_of.get(owner, owner)), device_names(native)
    inside: dict[tuple[str, str], list[JaegerSpan]] = defaultdict(list)
    groups: dict[tuple[str, Value, int, Key], list[JaegerSpan]] = defaultdict(list)
    for span in sorted(dispatches.values(), key=lambda span: span.start_ns):
        above = outermost(span)
        if above is not span:
            inside[above.id].append(span)
        elif meant(span):
            parent = known.get((span.trace_id, span.parent_id))
            # A forked child inherits the instance id that the SDK of the program gave its parent.
            instance = span.resource.get("service.instance.id", "")
            groups[_run(span), instance, _pid(span), _key(span, parent)].append(span)
    # With a TRACEPARENT the span of a run is in the trace of its cases, else in one of its own.
    here = {_run(span): code for span in spans if isinstance(code := span.attributes.get(_EXIT_CODE), int)}
    codes = {run: here[run] if run in here else backend.exit_code(run) for run in {run for run, *_ in groups}}
    for (run, _, _, key), members in groups.items():
        of_case = [(span.trace_id, span.parent_id) for span in members]
        passes = [cases[one] for one in dict.fromkeys(of_case) if one in cases]
        outcomes = [str(one.attributes[_RESULT["case"]]) for one in passes]
        rounds = Rounds.of(
            _round(span, with_inner(ranks.get("/".join(span.id), {}), _pid(span), map(_inner, inside[span.id])))
            for span in members
        )
        begins = [i for i, one in enumerate(of_case) if i == 0 or one != of_case[i - 1]]
        yield Repetition(
            run=run,
            pid=_pid(members[0]),
            key=key,
            outcome=next((outcome for outcome in outcomes if outcome != "pass"), "pass"),
            rounds=rounds,
            begins=begins,
            device_names=device,
            id=members[0].span_id,
            failed=f"its run ended with exit code {codes[run]}" if codes[run] else "",
            pressure=mean_pressure([one.attributes.get(PRESSURE) for one in passes]),
            busy=tuple(_busy(members[0], rounds, begins)),
        )


def _busy(span: JaegerSpan, rounds: Rounds, begins: list[int]) -> Iterator[Busy]:
    of = span.resource
    machine = next((str(one) for key in ("scenetest.boot_id", "host.name") if (one := of.get(key))), "")
    parent = of.get("process.parent_pid")
    above = frozenset([] if parent is None else [process_id(_run(span), int(parent))])
    for start, end in rounds.times(begins):
        yield Busy(machine, process_id(_run(span), _pid(span)), above, start, end)


def _run(span: JaegerSpan) -> str:
    return str(span.resource.get("scenetest.run.id", ""))


def _pid(span: JaegerSpan) -> int:
    return int(span.resource.get("process.pid", 0))


def _inner(span: JaegerSpan) -> tuple[str, int | None]:
    of = span.attributes
    whole = of[_RESULT["outcome"]] == "pass" and not of.get(NOT_WAITED_FOR) and "scenetest.end" not in of
    return name_inside(of), _measured_end(span) - span.start_ns if whole else None


def _measured_end(span: JaegerSpan) -> int:
    """Return its end; that of a span that is wider than what was measured is moved to the measured duration."""
    duration = span.attributes.get(DURATION)
    return span.start_ns + duration if isinstance(duration, int) else span.end_ns


def _round(span: JaegerSpan, ranks: Mapping[int, Rank]) -> Round:
    return Round(
        start_ns=span.start_ns,
        end_ns=None if "scenetest.end" in span.attributes else _measured_end(span),
        outcome=str(span.attributes[_RESULT["outcome"]]),
        waited_for=bool(span.attributes.get(NOT_WAITED_FOR)),
        conditions=conditions_of({**span.resource, **span.attributes}, str(span.attributes.get("scenetest.ruler"))),
        ranks=ranks,
    )


def _key(span: JaegerSpan, parent: JaegerSpan | None) -> Key:
    """Return what a dispatch is of; `parent` is the case, or outside any case the span of the process."""
    suite, case = (str(span.attributes.get(f"test.{kind}.name", "")) for kind in ("suite", "case"))
    if not case:
        command = command_of(span.resource.get("process.command_line"))
        return key_outside(parent.name if parent else "", command, span.attributes.get(CALLABLE))
    of_case = parent.attributes if parent else span.attributes
    return key_of(suite, case, {**span.resource, **span.attributes}, of_case)


def _native(spans: Iterable[JaegerSpan], owners: set[tuple[str, str]]) -> list[Placed[str]]:
    """Put the native spans where they were when they were delivered: below each other, and below a dispatch or case."""
    native = {span.id: span for span in spans if _RESULT["native"] in span.attributes}
    placed: dict[tuple[str, str], Placed[str]] = {}

    def place(span: JaegerSpan) -> Placed[str]:
        if span.id not in placed:
            above = span.trace_id, span.parent_id
            parent = place(native[above]) if above in native else None
            window = Window("/".join(above), span.start_ns, span.end_ns) if above in owners else None
            known = span.attributes.get("scenetest.rank") != "unknown"
            placed[span.id] = Placed(_record(span), span.start_ns, parent, parent.window if parent else window, known)
        return placed[span.id]

    return [place(span) for span in native.values()]


def _record(span: JaegerSpan) -> NativeSpan:
    of = span.attributes
    on_device = of.get("scenetest.clock") == "device"
    return NativeSpan(
        pid=int(span.resource.get("process.pid", 0)),
        tid=int(of.get("thread.id", 0)),
        inv=int(of["simpler.inv"]),
        hid=str(of.get("simpler.hid", "")),
        depth=int(of.get("simpler.depth", 0)),
        name=span.name,
        start_ns=int(of.get("simpler.ts", span.start_ns)) if on_device else span.start_ns,
        duration_ns=span.end_ns - span.start_ns,
        attributes={"clk": "dev"} if on_device else {},
    )


def _labelled(repetitions: Iterable[Repetition], names: Mapping[str, str]) -> list[Repetition]:
    """Call each run by its name, those that share one by a number too, in the order in which they ran."""
    in_time = sorted(repetitions, key=lambda one: one.rounds[0].start_ns)
    of_name: dict[str, list[str]] = defaultdict(list)
    for run in dict.fromkeys(one.run for one in in_time):
        of_name[names[run]].append(run)
    labels = {
        run: name if len(runs) == 1 else f"{name}-{number}"
        for name, runs in of_name.items()
        for number, run in enumerate(runs, 1)
    }
    return [replace(one, run=labels[one.run]) for one in in_time]
