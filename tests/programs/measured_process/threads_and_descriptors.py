"""Recording starts no thread, opens no socket, and keeps only its journal and the run open."""

from __future__ import annotations

import os
import threading

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument


def open_files() -> set[str]:
    return {os.readlink(f.path) for f in list(os.scandir("/proc/self/fd")) if os.path.exists(f.path)}


before = open_files()
instrument()
with case("S", "c"), dispatch():
    pass
after = open_files()
assert threading.active_count() == 1
assert sorted(name.rpartition(".")[2] for name in after - before) == ["json", "jsonl"], after - before
