"""An arm from a Jaeger: the same rounds, conditions and native times as from the journals of its runs.

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
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qsl, urlencode
from urllib.request import urlopen

from opentelemetry.instrumentation.scenetest.analyse.compare.repetitions import Key, Rank, Repetition, Round
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, Value
from opentelemetry.instrumentation.scenetest.errors import BadInputError
from opentelemetry.instrumentation.scenetest.native.markers import NativeSpan
from opentelemetry.instrumentation.scenetest.native.place import Placed, Window
from opentelemetry.instrumentation.scenetest.rundir.span import NOT_WAITED_FOR
from opentelemetry.instrumentation.scenetest.sources.repetitions import CALLABLE, device_names, key_of, ranks_of

SERVICE = "service.name"

_AT_ONCE = 500
_SHORTEST = timedelta(milliseconds=1)
_BACK = timedelta(days=90)
_AHEAD = timedelta(hours=1)
_SECONDS = 60
_RESULT = {"case": "test.case.result.status", "outcome": "scenetest.outcome", "native": "simpler.inv"}


@dataclass(frozen=True)
class Span:
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
        """What makes it one: the same span is found in two slices, and may have been delivered twice."""
        return self.trace_id, self.span_id


def read(arm: str, url: str) -> list[Repetition]:
    """Return what the runs measured that `KEY=VALUE&...` means.

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
    repetitions = list(_repetitions(list(found.values()), asked))
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

    def spans(self, service: str) -> Iterator[Span]:
        now = datetime.now(timezone.utc)
        for trace_id in dict.fromkeys(self._trace_ids(service, now - _BACK, now + _AHEAD)):
            for part in self._get(f"/api/v3/traces/{trace_id}"):
                yield from _spans(part)

    def _trace_ids(self, service: str, begin: datetime, end: datetime) -> Iterator[str]:
        """Yield the ids of all traces of a slice of time, from as many smaller ones as it takes."""
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

    def _get(self, path: str, query: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        address = f"{self.url}{path}{f'?{urlencode(query)}' if query else ''}"
        if not self.url.startswith(("http://", "https://")):
            raise BadInputError(f"--jaeger {self.url}: this is no address, as http://localhost:16686 is")
        try:
            with urlopen(address, timeout=_SECONDS) as answer:
                return list(_objects(answer.read().decode()))
        except HTTPError as error:
            raise BadInputError(f"Jaeger at {self.url} answered {error.code} {error.reason}") from None
        except (URLError, OSError, ValueError) as error:
            raise BadInputError(f"Jaeger at {self.url} does not answer: {error}") from None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of an answer: a long one comes as several, one after the other."""
    decoder = json.JSONDecoder()
    at = 0
    while at < len(text):
        one, at = decoder.raw_decode(text, at)
        yield one
        while text[at : at + 1].isspace():
            at += 1


def _spans(answer: Mapping[str, Any]) -> Iterator[Span]:
    for group in answer.get("result", answer).get("resourceSpans", []):
        resource = _attributes(group.get("resource", {}))
        for scope in group.get("scopeSpans", []):
            for span in scope.get("spans", []):
                yield Span(
                    trace_id=span["traceId"],
                    span_id=span["spanId"],
                    parent_id=span.get("parentSpanId", ""),
                    name=span["name"],
                    start_ns=int(span["startTimeUnixNano"]),
                    end_ns=int(span["endTimeUnixNano"]),
                    attributes=_attributes(span),
                    resource=resource,
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


def _repetitions(spans: list[Span], asked: Mapping[str, str]) -> Iterator[Repetition]:
    cases = {span.id: span for span in spans if _RESULT["case"] in span.attributes}

    def meant(span: Span) -> bool:
        case = cases.get((span.trace_id, span.parent_id))
        return _has(asked, span.resource, case.attributes if case else {}, span.attributes)

    dispatches = [
        span for span in spans if _RESULT["outcome"] in span.attributes and span.id not in cases and meant(span)
    ]
    native = _native(spans, {*cases, *(span.id for span in dispatches)})
    ranks, device = ranks_of(native, lambda owner: owner), device_names(native)
    groups: dict[tuple[str, Value, Key], list[Span]] = defaultdict(list)
    for span in sorted(dispatches, key=lambda span: span.start_ns):
        groups[_run(span), span.resource.get("service.instance.id", ""), _key(span)].append(span)
    for (_, _, key), members in groups.items():
        of_case = [(span.trace_id, span.parent_id) for span in members]
        outcomes = [str(cases[one].attributes[_RESULT["case"]]) for one in dict.fromkeys(of_case) if one in cases]
        yield Repetition(
            run=_run(members[0]),
            pid=int(members[0].resource.get("process.pid", 0)),
            key=key,
            outcome=next((outcome for outcome in outcomes if outcome != "pass"), "pass"),
            rounds=[_round(span, ranks.get("/".join(span.id), {})) for span in members],
            begins=[i for i, one in enumerate(of_case) if i == 0 or one != of_case[i - 1]],
            device_names=device,
        )


def _run(span: Span) -> str:
    return str(span.resource.get("scenetest.run.id", ""))


def _round(span: Span, ranks: Mapping[int, Rank]) -> Round:
    return Round(
        start_ns=span.start_ns,
        end_ns=None if "scenetest.end" in span.attributes else span.end_ns,
        outcome=str(span.attributes[_RESULT["outcome"]]),
        waited_for=bool(span.attributes.get(NOT_WAITED_FOR)),
        conditions={**span.resource, **span.attributes},
        ranks=ranks,
    )


def _key(span: Span) -> Key:
    suite, case = (str(span.attributes.get(f"test.{kind}.name", "")) for kind in ("suite", "case"))
    if not case:
        return Key(NOT_RECORDED, "", str(span.attributes.get(CALLABLE, "outside any case")), None, None, None, None)
    return key_of(suite, case, {**span.resource, **span.attributes})


def _native(spans: Iterable[Span], owners: set[tuple[str, str]]) -> list[Placed[str]]:
    """Put the native spans where they were when they were delivered: below each other, and below a dispatch or case."""
    native = {span.id: span for span in spans if _RESULT["native"] in span.attributes}
    placed: dict[tuple[str, str], Placed[str]] = {}

    def place(span: Span) -> Placed[str]:
        if span.id not in placed:
            above = span.trace_id, span.parent_id
            parent = place(native[above]) if above in native else None
            window = Window("/".join(above), span.start_ns, span.end_ns) if above in owners else None
            known = span.attributes.get("scenetest.rank") != "unknown"
            placed[span.id] = Placed(_record(span), span.start_ns, parent, parent.window if parent else window, known)
        return placed[span.id]

    return [place(span) for span in native.values()]


def _record(span: Span) -> NativeSpan:
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
