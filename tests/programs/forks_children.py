"""Forks many children that record one case each, and prints the CPU time per child in milliseconds."""

import os
import sys
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

children, records = int(sys.argv[1]), sys.argv[2] == "recorded"
instrument()
with case("S", "parent"), dispatch():
    pass


def used() -> float:
    """Return the CPU time of this process and of all that it has waited for, in seconds."""
    usages = getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


before = used()
for _ in range(children):
    child = os.fork()
    if child == 0:
        if records:
            with case("S", "child"), dispatch():
                pass
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
print(1000 * (used() - before) / children)
