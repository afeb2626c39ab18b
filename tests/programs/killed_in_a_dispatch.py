"""Is killed during a dispatch that has printed a native timing. Its case has two phases before that."""

from __future__ import annotations

import os
import signal
import time

from opentelemetry.instrumentation.scenetest import case, dispatch, instrument, phase

instrument()
with case("S", "c"):
    with phase("args"):
        pass
    with dispatch():
        start = time.monotonic_ns()
        time.sleep(0.01)
        end, pid = time.monotonic_ns(), os.getpid()
        span = f"v=1 pid={pid} tid={pid} inv=1 hid=0 depth=0 name=chip.run.bind ts={start} dur={end - start}"
        os.write(2, f"[mono_ns={end}][T0x7f][TIMING] emit_host_span: [STRACE] {span} \n".encode())
        os.kill(os.getpid(), signal.SIGKILL)
