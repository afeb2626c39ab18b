"""How many processes dispatched at the same time: they compete for CPUs and devices."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

CONCURRENCY = "concurrency"
"""A condition of a repetition: how many processes dispatched at the same time, including its own. 1 means alone."""

WHY = "processes that dispatch at the same time compete for CPUs, memory and devices"


@dataclass(frozen=True)
class Busy:
    """A time from the first to the last dispatch of one case, or of one callable outside any case, in one process.

    Attributes:
        machine: where it ran: only processes of one machine disturb each other.
        process: tells processes apart, over all runs.
        above: the processes that started it. A dispatch inside the parent's dispatch is a part of that one.
        start_ns: when its first dispatch began.
        end_ns: when its last dispatch ended, on the same clock.
    """

    machine: str
    process: str
    above: frozenset[str]
    start_ns: int
    end_ns: int

    def is_of_one_family(self, other: Busy) -> bool:
        """Whether both are one process, or one process started the other."""
        return self.process == other.process or self.process in other.above or other.process in self.above


def at_once(busy: Iterable[Busy]) -> dict[Busy, int]:
    """Return for each busy time the largest number of processes that were busy at once in it, its own included."""
    beside: dict[Busy, list[Busy]] = {}
    for of_machine in _by_machine(busy):
        running: list[Busy] = []
        for one in of_machine:
            running = [other for other in running if other.end_ns > one.start_ns]
            beside[one] = []
            for other in running:
                if not one.is_of_one_family(other):
                    beside[one].append(other)
                    beside[other].append(one)
            running.append(one)
    return {one: 1 + _most(one, others) for one, others in beside.items()}


def _by_machine(busy: Iterable[Busy]) -> Iterable[list[Busy]]:
    machines: dict[str, list[Busy]] = defaultdict(list)
    for one in dict.fromkeys(busy):
        machines[one.machine].append(one)
    return [sorted(of_machine, key=lambda one: one.start_ns) for of_machine in machines.values()]


def _most(one: Busy, others: Sequence[Busy]) -> int:
    """Return the largest number of other processes that are busy at one moment of its time."""
    # An end comes before a start at the same moment.
    edges = [(max(other.start_ns, one.start_ns), 1, other.process) for other in others]
    edges += [(min(other.end_ns, one.end_ns), 0, other.process) for other in others]
    most, running = 0, Counter[str]()
    for _, begins, process in sorted(edges):
        running[process] += 1 if begins else -1
        most = max(most, sum(1 for count in running.values() if count > 0))
    return most
