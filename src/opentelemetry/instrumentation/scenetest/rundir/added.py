"""What the program added to a span of ours, as a journal has it: attributes, events, links, status, name.

Written by the recorder's current span. Whatever a damaged line holds instead is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

_SCALAR = (str, int, float)
_STATUS = ("OK", "ERROR")
_HEX = frozenset("0123456789abcdef")

Attributes = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a span, at a monotonic time or, where the program gave it one, at a time of the wall clock."""

    name: str
    attributes: Attributes
    monotonic_ns: int | None
    unix_ns: int | None


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a span to another one."""

    trace_id: str
    span_id: str
    flags: int
    state: str
    remote: bool
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Added:
    """What the program added to one span.

    Attributes:
        attributes: attributes, without those that we set.
        events: events, the exception that left the span among them.
        links: links to other spans.
        status: name of a status code and a description, if the program set a status.
        name: another name for the span; empty for none.
        dropped: how many `attributes`, `events` and `links` were dropped, as there were too many.
    """

    attributes: Attributes = field(default_factory=dict[str, Any])
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()
    status: tuple[str, str | None] | None = None
    name: str = ""
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])


NOTHING_ADDED = Added()


def read(found: object) -> Added:
    """Return what a `close` line holds under `added`."""
    fields = _mapping(found)
    name = fields.get("name")
    dropped = {key: count for key, count in _mapping(fields.get("dropped")).items() if _is_count(count)}
    return Added(
        attributes=_attributes(fields.get("attributes")),
        events=tuple(_events(fields.get("events"))),
        links=tuple(_links(fields.get("links"))),
        status=_status(fields.get("status")),
        name=name if isinstance(name, str) else "",
        dropped=dropped,
    )


def _mapping(found: object) -> dict[str, Any]:
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _items(found: object) -> list[dict[str, Any]]:
    return [_mapping(each) for each in cast("list[object]", found)] if isinstance(found, list) else []


def _attributes(found: object) -> Attributes:
    return {key: value for key, value in _mapping(found).items() if _is_value(value)}


def _is_value(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(each, _SCALAR) for each in cast("list[object]", value))
    return isinstance(value, _SCALAR)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < 1 << 32


def _time(value: object) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 1 << 63 else None


def _events(found: object) -> Iterator[Event]:
    for each in _items(found):
        at, unix = _time(each.get("at")), _time(each.get("unix"))
        if isinstance(each.get("name"), str) and (at is not None or unix is not None):
            yield Event(each["name"], _attributes(each.get("attributes")), at, unix)


def _links(found: object) -> Iterator[Link]:
    for each in _items(found):
        trace, span = _hex(each.get("trace"), 32), _hex(each.get("id"), 16)
        flags, state = each.get("flags"), each.get("tracestate")
        if trace and span and isinstance(flags, int) and 0 <= flags <= 255:
            known = state if isinstance(state, str) else ""
            yield Link(trace, span, flags, known, each.get("remote") is True, _attributes(each.get("attributes")))


def _hex(value: object, length: int) -> str:
    return value if isinstance(value, str) and len(value) == length and _HEX.issuperset(value) else ""


def _status(found: object) -> tuple[str, str | None] | None:
    words = cast("list[object]", found) if isinstance(found, list) else []
    if not words or words[0] not in _STATUS:
        return None
    description = words[1] if len(words) > 1 else None
    return str(words[0]), description if isinstance(description, str) else None
