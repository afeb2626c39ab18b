"""Worker and RunHandle: who dispatches, what is forked when, how children are spoken to and how they end."""

from __future__ import annotations

import itertools
import mmap
import os
import pickle
import queue
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing import resource_tracker
from typing import Any

from . import _native
from ._log import get_current_config
from .task_interface import Buffer, CallableHandle, CallConfig, ChipCallable, TaskArgs

_IDLE, _TASK_READY, _TASK_DONE, _CONTROL_REQUEST, _SHUTDOWN, _INIT_READY = range(6)
_MAILBOX_SIZE = 1 << 16
_PAYLOAD = 8
_POLL_S = 5e-5


def _write(buf: mmap.mmap, value: object) -> None:
    data = pickle.dumps(value)
    buf[_PAYLOAD : _PAYLOAD + len(data)] = data


def _read(buf: mmap.mmap) -> Any:
    return pickle.loads(buf[_PAYLOAD:])


def _run_mailbox_loop(
    buf: mmap.mmap,
    state_addr: int,
    *,
    handle_task: Callable[[mmap.mmap], tuple[int, str]],
    handle_control: Callable[[int], tuple[int, str]],
    on_shutdown: Callable[[], None] | None = None,
) -> None:
    """The one loop that every forked child polls, until it is told to stop or loses its parent."""
    parent = os.getppid()
    while True:
        state = buf[state_addr]
        if state == _SHUTDOWN or os.getppid() != parent:
            if on_shutdown is not None:
                on_shutdown()
            return
        if state in (_TASK_READY, _CONTROL_REQUEST):
            _write(buf, handle_task(buf) if state == _TASK_READY else handle_control(0))
            buf[state_addr] = _TASK_DONE
        else:
            time.sleep(_POLL_S)


def _serve(
    buf: mmap.mmap,
    label: str,
    task: Callable[[int, TaskArgs, CallConfig], None],
    on_shutdown: Callable[[], None] | None = None,
) -> None:
    def handle_task(task_buf: mmap.mmap) -> tuple[int, str]:
        try:
            task(*_read(task_buf))
        except Exception as error:
            return 1, f"{label}: {type(error).__name__}: {error}"
        return 0, ""

    def handle_control(sub_cmd: int) -> tuple[int, str]:
        return 1, f"{label}: unknown control {sub_cmd}"

    buf[0] = _INIT_READY
    _run_mailbox_loop(buf, 0, handle_task=handle_task, handle_control=handle_control, on_shutdown=on_shutdown)


def _sub_worker_loop(buf: mmap.mmap, registry: dict[int, Any]) -> None:
    _serve(buf, "sub_worker", lambda slot, args, _config: registry[slot](args))


def _chip_process_loop(buf: mmap.mmap, registry: dict[int, Any], device_id: int, log_level: int) -> None:
    _native.forget_runs()
    _native.configure(log_level)
    os.write(2, f"[chip_process pid={os.getpid()} dev={device_id}] ready\n".encode())
    _serve(buf, f"chip {device_id}", lambda slot, args, _config: _native.chip_run(registry[slot], args.tensors))


def _child_worker_loop(buf: mmap.mmap, registry: dict[int, Any], inner_worker: Worker) -> None:
    """The next level down: the one forked child that dispatches itself."""
    label = f"child_worker level={inner_worker.level}"
    run: Callable[[int, TaskArgs, CallConfig], None] = lambda slot, args, config: inner_worker.run(  # noqa: E731
        registry[slot], args, config
    )
    _serve(buf, label, run, on_shutdown=inner_worker.close)


class RunHandle:
    """Completion of one submission; waiting is idempotent."""

    def __init__(self, worker: Worker, run_id: int) -> None:
        self._worker = worker
        self._run_id = run_id
        self._finished = threading.Event()
        self._terminal = False
        self._error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self._finished.is_set()

    def wait(self, timeout: float | None = None) -> None:
        if not self._finished.wait(timeout):
            raise TimeoutError("RunHandle.wait() timed out")
        self._terminal = True
        self._worker._accepted_run_handles.discard(self)
        if self._error is not None:
            raise self._error

    def result(self, timeout: float | None = None) -> None:
        self.wait(timeout)


class _Child:
    """A forked process and its mailbox, seen from the parent."""

    def __init__(self, main: Callable[[mmap.mmap], None]) -> None:
        self.buf = mmap.mmap(-1, _MAILBOX_SIZE)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                main(self.buf)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        self._await(_INIT_READY)

    def start(self, slot: int, args: TaskArgs, config: CallConfig) -> None:
        _write(self.buf, (slot, args, config))
        self.buf[0] = _TASK_READY

    def finish(self) -> None:
        self._await(_TASK_DONE)
        code, message = _read(self.buf)
        if code:
            raise RuntimeError(message)

    def shut_down(self) -> None:
        self.buf[0] = _SHUTDOWN
        os.waitpid(self.pid, 0)

    def _await(self, state: int) -> None:
        while self.buf[0] != state:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                signal = os.WTERMSIG(status)
                raise RuntimeError(f"child process {pid} exited before mailbox completion (signal={signal})")
            time.sleep(_POLL_S)


class Orchestrator:
    """What an orchestration function sees: it only builds the graph."""

    def __init__(self, worker: Worker, run_id: int) -> None:
        self._worker = worker
        self._run_id = run_id
        self.graph: list[list[tuple[_Child, int, TaskArgs, CallConfig]]] = []

    def submit_next_level(
        self, handle: CallableHandle, args: TaskArgs, config: CallConfig | None = None, *, worker: int = 0
    ) -> None:
        self.submit_next_level_group(handle, [args], config, workers=[worker])

    def submit_next_level_group(
        self, handle: CallableHandle, args: list[TaskArgs], config: CallConfig | None = None, *, workers: list[int]
    ) -> None:
        start = time.monotonic_ns()
        children = [self._worker._next_level[index] for index in workers]
        chosen = config or CallConfig()
        self.graph.append([(child, handle.slot_id, one, chosen) for child, one in zip(children, args, strict=True)])
        self._submitted(start, len(args))

    def submit_sub(self, handle: CallableHandle, args: TaskArgs) -> None:
        start = time.monotonic_ns()
        self.graph.append([(self._worker._subs[0], handle.slot_id, args, CallConfig())])
        self._submitted(start, 1)

    def _submitted(self, start: int, size: int) -> None:
        more: dict[str, Any] = {"run_id": self._run_id, "task_slot": len(self.graph) - 1, "group_size": size}
        _native.span("node.submit", start, time.monotonic_ns(), depth=0, inv=self._run_id, **more, role="facade")


class Worker:
    """Level 2 runs kernels in this process; level 3 forks chip and sub workers; level 4 forks level 3 Workers."""

    def __init__(self, level: int, **config: Any) -> None:
        self.level = level
        self._config = config
        self._callable_registry: dict[int, Any] = {}
        self._run_ids = itertools.count(1)
        self._next_level_workers: list[Worker] = []
        self._next_level: list[_Child] = []
        self._subs: list[_Child] = []
        self._chip_pids: list[int] = []
        self._sub_pids: list[int] = []
        self._next_level_pids: list[int] = []
        self._prewarm_config: CallConfig | None = None
        self._accepted_run_handles: set[RunHandle] = set()
        self._work: queue.SimpleQueue[tuple[RunHandle, Callable[[], None]] | None] = queue.SimpleQueue()
        self._scheduler: threading.Thread | None = None

    def add_worker(self, worker: Worker) -> int:
        self._next_level_workers.append(worker)
        return len(self._next_level_workers) - 1

    def register(self, target: Any, *, workers: list[int] | None = None) -> CallableHandle:
        handle = CallableHandle(len(self._callable_registry))
        self._callable_registry[handle.slot_id] = target
        return handle

    def create_buffer(self, nbytes: int) -> Buffer:
        return Buffer(nbytes)

    def init(self, prewarm_config: CallConfig | None = None, *, _startup_deadline: float | None = None) -> None:
        """Forks the whole tree below this Worker, and only then starts the scheduler's thread."""
        self._prewarm_config = prewarm_config
        if self.level > 2:
            resource_tracker.ensure_running()  # one more interpreter, shared with the children forked below
        log_level = get_current_config()
        _native.configure(log_level)
        registry = self._callable_registry
        self._subs = [
            _Child(lambda buf: _sub_worker_loop(buf, registry)) for _ in range(self._config.get("num_sub_workers", 0))
        ]
        chips = [
            _Child(lambda buf, d=device_id: _chip_process_loop(buf, registry, d, log_level))
            for device_id in self._config.get("device_ids", [])
        ]
        nested = [_Child(lambda buf, w=inner: self._next_level_main(buf, w)) for inner in self._next_level_workers]
        self._next_level = chips + nested
        self._sub_pids, self._chip_pids, self._next_level_pids = (
            [child.pid for child in group] for group in (self._subs, chips, nested)
        )
        self._scheduler = threading.Thread(target=self._schedule, name="scheduler", daemon=True)
        self._scheduler.start()

    def submit(
        self,
        callable: Any,  # noqa: A002  (the harness's own name)
        args: TaskArgs | None = None,
        config: CallConfig | None = None,
    ) -> RunHandle:
        handle = RunHandle(self, next(self._run_ids))
        self._accepted_run_handles.add(handle)
        passed = args or TaskArgs()
        if self.level == 2:
            target: ChipCallable = self._callable_registry[callable.slot_id]
            self._work.put((handle, lambda: _native.chip_run(target, passed.tensors)))
            return handle
        orch = Orchestrator(self, handle._run_id)
        start = time.monotonic_ns()
        callable(orch, passed, config)
        self._work.put((handle, lambda: self._run_graph(orch, handle._run_id)))
        more: dict[str, Any] = {"run_id": handle._run_id, "role": "facade"}
        _native.span("node.graph_build", start, time.monotonic_ns(), depth=0, inv=handle._run_id, **more)
        return handle

    def run(self, callable: Any, args: TaskArgs | None = None, config: CallConfig | None = None) -> None:  # noqa: A002
        self.submit(callable, args=args, config=config).wait()

    def close(self) -> None:
        for handle in tuple(self._accepted_run_handles):
            handle.wait()
        if self._scheduler is not None:
            self._work.put(None)
            self._scheduler.join()
            self._scheduler = None
        for child in self._next_level + self._subs:
            child.shut_down()
        self._next_level, self._subs = [], []

    def _next_level_main(self, buf: mmap.mmap, inner: Worker) -> None:
        inner.init(self._prewarm_config, _startup_deadline=time.monotonic() + 60)
        _child_worker_loop(buf, self._callable_registry, inner)

    def _schedule(self) -> None:
        while (item := self._work.get()) is not None:
            handle, work = item
            try:
                work()
            except BaseException as error:
                handle._error = error
            handle._finished.set()

    def _run_graph(self, orch: Orchestrator, run_id: int) -> None:
        for slot, group in enumerate(orch.graph):
            start = time.monotonic_ns()
            for child, callable_slot, args, config in group:
                child.start(callable_slot, args, config)
            sent = time.monotonic_ns()
            for child, *_ in group:
                child.finish()
            more: dict[str, Any] = {"run_id": run_id, "task_slot": slot}
            _native.span("node.dispatch", start, sent, depth=0, inv=run_id, **more)
            _native.span("node.complete", sent, time.monotonic_ns(), depth=0, inv=run_id, **more)
