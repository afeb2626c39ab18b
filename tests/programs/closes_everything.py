"""Closes all unknown descriptors as a daemon does, opens its own files, and forks."""

import os
import sys
from pathlib import Path

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument

instrument()
folder, files = Path(sys.argv[1]), int(sys.argv[2])
with case("S", "before"), dispatch():
    pass
os.closerange(3, 10_000)
own = [os.open(folder / f"own-{number}", os.O_RDWR | os.O_CREAT | os.O_APPEND) for number in range(files)]
child = os.fork()
if child == 0:
    for descriptor in own:
        os.fstat(descriptor)
    with case("S", "child"), dispatch():
        pass
    for descriptor in own:
        os.fstat(descriptor)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
with case("S", "after"):
    for _ in range(10):
        with dispatch():
            pass
for descriptor in own:
    os.fstat(descriptor)
