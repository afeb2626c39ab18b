"""Makes native marker lines in the harness's format, for tests that need markers that no recorded log contains."""

from pathlib import Path

LOGS = Path(__file__).parent.parent / "data" / "native"


def strace(
    name: str, start: int, duration: int, *, pid: int = 1, tid: int = 0, inv: int = 1, depth: int = 0, rest: str = ""
) -> str:
    return (
        f"[mono_ns={start + duration}][T0x7f2d28e29b80][TIMING] emit_host_span: [STRACE] v=1 pid={pid} tid={tid or pid}"
        f" inv={inv} hid=0 depth={depth} name={name} ts={start} dur={duration} {rest}\n"
    )


def bind_phase(phase: str, start: int, duration: int, rest: str = "") -> str:
    return (
        f"[mono_ns={start + duration}][T0x7f2d28e29b80][TIMING] host_phase_trace_end: [host_phase_trace.cpp:393]"
        f" bind phase={phase} start_ns={start} dur_ns={duration} {rest}\n"
    )
