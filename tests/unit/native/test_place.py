"""Which dispatch, case or process each native record is put under, and the figures of each pass."""

import io
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from support.markers import LOGS, bind_phase, strace

from opentelemetry.instrumentation.scenetest.analyse.passes import passes
from opentelemetry.instrumentation.scenetest.native.markers import NativeSpan
from opentelemetry.instrumentation.scenetest.native.place import Native, Placed, ProcessWindows, Window, place
from opentelemetry.instrumentation.scenetest.native.strace import read

WALL = "chip.run.runner_run.device_wall"


def placed(text: str | bytes, *processes: ProcessWindows[str]) -> Native[str]:
    data = text.encode() if isinstance(text, str) else text
    return place(read(io.BytesIO(data)), processes)


def process(
    pid: int,
    *dispatches: tuple[str, int, int],
    parent: int | None = None,
    cases: tuple[tuple[str, int, int], ...] = (),
    wall_offset_ns: int | None = None,
    children: frozenset[int] = frozenset(),
) -> ProcessWindows[str]:
    return ProcessWindows(
        pid,
        parent,
        [Window(*each) for each in dispatches],
        [Window(*each) for each in cases],
        wall_offset_ns,
        children,
    )


def owners(native: Native[str]) -> list[str | None]:
    return [each.window.owner if each.window else None for each in native.spans]


def parents(native: Native[str]) -> dict[str, str | None]:
    return {each.span.name: each.parent.span.name if each.parent else None for each in native.spans}


def one(native: Native[str], name: str) -> Placed[str]:
    (found,) = [each for each in native.spans if each.span.name == name]
    return found


def test_a_record_belongs_to_the_dispatch_of_its_process_that_contains_it() -> None:
    text = strace("chip.run", 10, 5, inv=1) + strace("chip.run", 30, 5, inv=2)
    assert owners(placed(text, process(1, ("first", 9, 16), ("second", 29, 36)))) == ["first", "second"]


def test_outside_any_dispatch_it_belongs_to_the_case() -> None:
    native = placed(strace("chip.run", 10, 5), process(1, ("round", 20, 30), cases=(("case", 0, 40),)))
    assert owners(native) == ["case"]


def test_what_lies_in_nothing_is_kept_and_counted() -> None:
    native = placed(strace("chip.run", 10, 5), process(1, ("round", 12, 30)))
    assert owners(native) == [None]
    assert (native.counts.seen, native.counts.unplaced) == (1, 1)


def test_of_dispatches_in_flight_at_once_the_one_with_its_run_id_is_taken() -> None:
    windows = [Window("one", 0, 90, run_id=1), Window("two", 5, 95, run_id=2)]
    text = strace("node.submit", 10, 5, rest="run_id=1") + strace("node.submit", 20, 5, rest="run_id=2")
    assert owners(placed(text, ProcessWindows(1, None, windows))) == ["one", "two"]


def test_a_forked_child_belongs_to_the_process_whose_dispatches_contain_its_runs() -> None:
    text = "".join(strace("chip.run", start, 5, pid=7, inv=start) for start in (10, 30, 50))
    ours = process(1, ("a", 9, 16), ("b", 29, 36), ("c", 49, 56))
    beside_it = process(2, ("x", 0, 20), ("y", 40, 50))
    assert owners(placed(text, beside_it, ours)) == ["a", "b", "c"]


def test_a_child_that_two_processes_may_have_forked_is_not_given_to_either() -> None:
    native = placed(strace("chip.run", 10, 5, pid=7), process(1, ("a", 0, 20)), process(2, ("b", 0, 20)))
    assert owners(native) == [None]


def test_a_child_that_the_journal_knows_needs_no_guess() -> None:
    ours = process(1, ("a", 0, 20), children=frozenset({7}))
    assert owners(placed(strace("chip.run", 10, 5, pid=7), ours, process(2, ("b", 0, 20)))) == ["a"]


def test_below_an_outer_level_the_dispatch_of_the_inner_one_is_meant() -> None:
    outer, inner = process(1, ("level 4", 0, 40)), process(2, ("level 3", 5, 30), parent=1)
    assert owners(placed(strace("chip.run", 10, 5, pid=7), outer, inner)) == ["level 3"]


def test_a_log_of_another_boot_is_not_placed_by_its_times() -> None:
    text = "[CLOCK_ANCHOR] v=1 pid=7 mono_ns=5 wall_ns=3600000000005\n" + strace("chip.run", 10, 5, pid=7)
    of_this_boot = process(1, ("a", 0, 20), wall_offset_ns=3600 * 10**9)
    of_another = process(1, ("a", 0, 20), wall_offset_ns=7200 * 10**9)
    assert owners(placed(text, of_this_boot)) == ["a"]
    assert owners(placed(text, of_another)) == [None]


def test_a_record_that_stands_in_two_logs_is_counted_once() -> None:
    text = strace("chip.run", 10, 5) + bind_phase("args", 11, 1)
    native = placed(text + text, process(1, ("round", 0, 20)))
    assert (native.counts.seen, native.counts.repeated) == (2, 2)


def test_losses_are_counted_by_kind() -> None:
    drops = "[HOSTLOG_DROPS] v=1 pid=1 new={} total={} queue_full=0\n"
    text = "[STRACE] v=1 pid\n" + strace("chip.run", 1, 2).replace("v=1", "v=9")
    counts = placed(text + drops.format(2, 2) + drops.format(1, 3)).counts
    assert (counts.seen, counts.torn, counts.other_version, counts.dropped) == (2, 1, 1, 3)


def test_the_tree_follows_depth_and_containment() -> None:
    text = (
        strace("chip.run.bind.args", 12, 2, depth=2)
        + strace("chip.run.bind", 11, 8, depth=1)
        + strace("chip.run.validate", 30, 5, depth=1)
        + strace("chip.run", 10, 40)
    )
    assert parents(placed(text)) == {
        "chip.run": None,
        "chip.run.bind": "chip.run",
        "chip.run.bind.args": "chip.run.bind",
        "chip.run.validate": "chip.run",
    }


def test_below_a_torn_record_the_next_one_that_contains_it_is_the_parent() -> None:
    text = strace("chip.run.bind.args", 12, 2, depth=2) + strace("chip.run", 10, 40)
    assert parents(placed(text))["chip.run.bind.args"] == "chip.run"


def test_another_thread_of_the_same_run_does_not_break_the_tree() -> None:
    text = (
        strace("chip.run.claim_release", 15, 2, tid=9, depth=0)
        + strace("chip.run.bind", 20, 5, depth=1)
        + strace("chip.run", 10, 40)
    )
    assert parents(placed(text))["chip.run.bind"] == "chip.run"


def test_spans_of_others_do_not_mix_with_the_pass() -> None:
    text = strace("chip.run", 20, 5, depth=1) + strace("ext.tool.layer", 10, 40, depth=0)
    assert parents(placed(text)) == {"chip.run": None, "ext.tool.layer": None}


def test_device_spans_lie_in_the_host_span_that_waited_for_them_and_say_so() -> None:
    text = (
        strace("chip.run.runner_run", 100, 50, depth=1)
        + strace(WALL, 0, 40, depth=2, rest="clk=dev")
        + strace(f"{WALL}.orch", 7, 10, depth=3, rest="clk=dev")
        + strace("chip.run", 90, 70)
    )
    native = placed(text, process(1, ("round", 0, 200)))
    wall, orch = one(native, WALL), one(native, f"{WALL}.orch")
    assert (wall.start_ns, wall.span.duration_ns) == (100, 40)
    assert (orch.start_ns, orch.span.duration_ns) == (107, 10)
    assert parents(native)[f"{WALL}.orch"] == WALL
    assert parents(native)[WALL] == "chip.run.runner_run"
    assert orch.attributes["scenetest.clock"] == "device"
    assert (orch.attributes["simpler.ts"], orch.attributes["simpler.clk"]) == (7, "dev")
    assert set(owners(native)) == {"round"}


def test_a_device_span_without_any_host_span_gets_no_time() -> None:
    native = placed(strace(WALL, 0, 40, depth=2, rest="clk=dev"), process(1, ("round", 0, 200)))
    assert (one(native, WALL).start_ns, native.counts.unplaced) == (None, 1)


def test_a_bind_phase_belongs_to_the_bind_that_contains_it() -> None:
    text = (
        bind_phase("host_orch", 12, 2, "tasks=4")
        + strace("chip.run.bind", 10, 20, pid=7, tid=8, inv=3, depth=1)
        + strace("chip.run.bind", 40, 20, pid=9, inv=3, depth=1)
    )
    phase = one(placed(text), "chip.run.bind.host_orch")
    assert (phase.span.pid, phase.span.tid, phase.span.inv, phase.span.depth) == (7, 8, 3, 2)
    assert phase.attributes["simpler.tasks"] == 4


def test_a_bind_phase_in_the_binds_of_two_ranks_has_an_unknown_rank() -> None:
    text = (
        bind_phase("host_orch", 12, 2)
        + strace("chip.run.bind", 10, 20, pid=7, depth=1)
        + strace("chip.run.bind", 11, 20, pid=9, depth=1)
    )
    native = placed(text, process(1, ("round", 0, 100)))
    phase = one(native, "chip.run.bind.host_orch")
    assert phase.window
    assert (phase.window.owner, phase.parent, phase.rank_known) == ("round", None, False)
    assert phase.attributes["scenetest.rank"] == "unknown"
    assert native.counts.rank_unknown == 1


def test_every_marker_of_a_real_level_3_run_lies_in_its_dispatch() -> None:
    text = (LOGS / "l3-two-devices.log").read_bytes()
    records = [record for record in read(io.BytesIO(text)) if isinstance(record, NativeSpan)]
    starts = [record.start_ns for record in records if record.name == "node.graph_build"]
    ends = [record.start_ns + record.duration_ns for record in records if record.name == "node.post_fence_retirement"]
    windows = [(f"round {index}", *bounds) for index, bounds in enumerate(zip(starts, ends, strict=True))]
    native = placed(text, process(15239, *windows))
    assert native.counts.unplaced == 0
    assert Counter(owners(native)) == {"round 0": 38, "round 1": 38, "round 2": 38}
    assert [(each.pid, each.inv) for each in passes(native.spans)][2:] == [
        (15272, 2),
        (15273, 2),
        (15272, 3),
        (15273, 3),
    ]


def test_the_figures_of_a_pass_are_those_of_the_harness() -> None:
    (pass_,) = passes(placed((LOGS / "a5sim-l2.log").read_bytes()).spans)
    assert pass_.figures == {
        "Host": 45798523,
        "Device": 10111298,
        "Orch": 41795,
        "Sched": 1602739,
        "Effective": 13224 + 1602739 - 5713,
        "bind": 34343130,
    }


def test_the_control_plane_is_the_sum_of_its_phases_within_each_pass() -> None:
    found = passes(placed((LOGS / "l2-bind-phases.log").read_bytes()).spans)
    assert [each.figures["control plane"] for each in found] == [17763 + 1462 + 1542, 22890 + 1592 + 1194, 23269]


def test_a_pass_that_lost_a_part_of_a_figure_has_no_such_figure() -> None:
    def bind(start: int, inv: int, *phases: str) -> str:
        spans = [strace(f"chip.run.bind.{phase}", start + 1, 5, inv=inv, depth=2) for phase in phases]
        return "".join(spans) + strace("chip.run.bind", start, 50, inv=inv, depth=1)

    text = bind(0, 1, "host_orch", "graph_upload", "arena_h2d") + bind(100, 2, "host_orch", "graph_upload")
    assert [each.figures.get("control plane") for each in passes(placed(text).spans)] == [15, None]


INTERVALS = st.tuples(st.integers(0, 60), st.integers(0, 30))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(INTERVALS, st.integers(1, 3), st.integers(1, 2), st.integers(0, 3), st.booleans()), max_size=25),
    st.lists(INTERVALS, max_size=6),
    st.lists(INTERVALS, max_size=4),
)
def test_no_span_lies_outside_its_parent_or_its_window_unless_it_is_marked(
    spans: list[tuple[tuple[int, int], int, int, int, bool]],
    phases: list[tuple[int, int]],
    windows: list[tuple[int, int]],
) -> None:
    names = ["chip.run", "chip.run.bind", "chip.run.bind.args", "chip.run.bind.args.copy"]
    text = "".join(
        strace(names[depth], *interval, pid=pid, inv=inv, depth=depth, rest="clk=dev" if device else "")
        for interval, pid, inv, depth, device in spans
    ) + "".join(bind_phase("host_orch", *interval) for interval in phases)
    native = placed(text, process(1, *((str(start), start, start + length) for start, length in windows)))
    for each in native.spans:
        if each.start_ns is None or each.attributes.get("scenetest.clock") == "device":
            continue
        if each.parent:
            assert each.parent.start_ns is not None
            assert each.parent.start_ns <= each.start_ns
            assert each.start_ns + each.span.duration_ns <= each.parent.start_ns + each.parent.span.duration_ns
        if each.window:
            assert each.window.start_ns <= each.start_ns
            assert each.start_ns + each.span.duration_ns <= each.window.end_ns
