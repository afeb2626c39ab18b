"""Stands for the C++ runtime: runs kernels and prints their timing markers, one write(2) to stderr each."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from multiprocessing.shared_memory import SharedMemory
from typing import Any

from . import _log
from .task_interface import BufferRef, ChipCallable

COLD_NS = 2_000_000  # the first run of a process builds its arena
KERNEL_NS = 300_000

_runs = 0
_threshold = _log.TIMING


def configure(threshold: int) -> None:
    """Worker.init: takes the log level as it is now and says which clock the markers use."""
    global _threshold
    _threshold = threshold
    _print("clock_anchor", f"[CLOCK_ANCHOR] v=1 pid={os.getpid()} mono_ns={_now()} wall_ns={time.time_ns()}")


def forget_runs() -> None:
    """A forked child counts its own runs."""
    global _runs
    _runs = 0


def span(name: str, start: int, end: int, *, depth: int, inv: int, hid: int = 0, **more: Any) -> None:
    head = f"[STRACE] v=1 pid={os.getpid()} tid={threading.get_native_id()} inv={inv} hid={hid:x} depth={depth}"
    tail = "".join(f" {key}={value}" for key, value in more.items())
    _print("emit_host_span", f"{head} name={name} ts={start} dur={end - start}{tail}")


def chip_run(target: ChipCallable, tensors: Sequence[Any]) -> None:
    """One run of a kernel; prints children before their parents, as scopes end."""
    global _runs
    _runs += 1
    inv = _runs
    begin = _now()
    opened: list[SharedMemory] = []
    local = [_materialize(tensor, opened) for tensor in tensors]
    args_end = _now()
    if inv == 1:
        time.sleep(COLD_NS / 1e9)
    prebuilt_end = _now()
    if os.environ.get("SIMPLER_HBG_BIND_BREAKDOWN_ENABLE", "")[:1] in ("1", "t", "T"):
        _bind_phases(begin, args_end, prebuilt_end, len(tensors))
    bind_end = _now()
    span("chip.run.bind.args", begin, args_end, depth=2, inv=inv)
    span("chip.run.bind.prebuilt", args_end, prebuilt_end, depth=2, inv=inv)
    span("chip.run.bind", begin, bind_end, depth=1, inv=inv)
    run_start = _now()
    time.sleep(KERNEL_NS / 1e9)
    target.kernel(*local)
    run_end = _now()
    span("chip.run.runner_run", run_start, run_end, depth=1, inv=inv)
    if os.environ.get("SIMPLER_DEVICE_STRACE_ENABLE") != "0":
        _device_spans(run_end - run_start, inv)
    span("chip.run", begin, _now(), depth=0, inv=inv)
    local.clear()
    for segment in opened:
        segment.close()


def _device_spans(wall: int, inv: int) -> None:
    root = "chip.run.runner_run.device_wall"
    span(root, 0, wall - 1000, depth=2, inv=inv, clk="dev")
    span(f"{root}.orch", 1000, wall // 3, depth=3, inv=inv, clk="dev")
    span(f"{root}.sched", wall // 4, wall // 2, depth=3, inv=inv, clk="dev")


def _bind_phases(begin: int, args_end: int, end: int, tensors: int) -> None:
    step = (end - args_end) // 4
    rows = [("args", begin, args_end - begin, f"ntensor={tensors}")]
    for index, phase in enumerate(("host_orch", "graph_upload", "arena_h2d", "host_view_close")):
        rows.append((phase, args_end + index * step, step, "bytes=64"))
    for phase, start, duration, more in rows:
        text = f"[host_phase_trace.cpp:393] bind phase={phase} start_ns={start} dur_ns={duration} {more}"
        _print("host_phase_trace_end", text)


def _materialize(tensor: Any, opened: list[SharedMemory]) -> Any:
    if not isinstance(tensor, BufferRef):
        return tensor
    import torch

    segment = SharedMemory(name=tensor.shm_name)
    opened.append(segment)
    count = 1
    for size in tensor.shape:
        count *= size
    return torch.frombuffer(segment.buf, dtype=tensor.dtype, count=count).view(tensor.shape)


def _print(function: str, text: str) -> None:
    if _threshold <= _log.TIMING:
        thread = threading.get_ident()
        os.write(2, f"[mono_ns={_now()}][T0x{thread:012x}][TIMING] {function}: {text}\n".encode())


def _now() -> int:
    return time.monotonic_ns()
