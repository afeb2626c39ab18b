"""Spans that are made live on the program's own tracer provider."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support.backends import Backend, serving
from support.live import PROVIDER, Exported, run_live
from support.scripts import PROGRAMS, only_process, only_run, record

from opentelemetry.instrumentation.scenetest.conditions.table import CONDITIONS
from opentelemetry.instrumentation.scenetest.deliver import spans
from opentelemetry.instrumentation.scenetest.rundir import layout, run_file

TREE = """
with case("Suite", "c\\udc80", level=2, platform="a2a3sim", nan=float("nan"), big=1 << 63):
    with phase("golden", size=3): pass
    with dispatch(device="0"): pass
    try:
        with dispatch(round=7): raise ValueError
    except ValueError: pass
with dispatch(callable="add", platform="a2a3sim"): pass
"""
CHANGES_FROM_RUN_TO_RUN = {
    "scenetest.run.id",
    "scenetest.run.name",
    *(name for name, condition in CONDITIONS.items() if condition.measured),
}


def one(exported: list[Exported], name: str) -> Exported:
    (found,) = [span for span in exported if span["name"] == name]
    return found


def lines(store: Path) -> list[dict[str, Any]]:
    (path,) = store.glob("*/*.jsonl")
    return list(map(json.loads, path.read_text().splitlines()))


def test_a_given_provider_gets_the_tree_and_the_names_of_a_run(tmp_path: Path) -> None:
    exported, _ = run_live("instrument(tracer_provider=make_provider())" + TREE, tmp_path)
    names = {span["id"]: span["name"] for span in exported}
    assert [(span["name"], names.get(span["parent"])) for span in exported] == [
        ("golden", "Suite::c\\udc80"),
        ("dispatch Suite::c\\udc80", "Suite::c\\udc80"),
        ("dispatch Suite::c\\udc80", "Suite::c\\udc80"),
        ("Suite::c\\udc80", None),
        ("dispatch add", "-c"),
        ("-c", None),
    ]
    assert {span["scope"] for span in exported} == {"opentelemetry.instrumentation.scenetest"}
    assert len({span["trace"] for span in exported}) == 2


def test_live_spans_carry_what_delivered_ones_do_and_the_conditions_on_cases_and_dispatches(tmp_path: Path) -> None:
    live, _ = run_live(
        f"instrument(tracer_provider=make_provider(), journal_dir={str(tmp_path / 'a')!r})" + TREE, tmp_path
    )
    run = record(PROVIDER + "instrument()" + TREE, tmp_path / "b")
    delivered = list(spans.of_run(run.path, run.facts))
    assert [span.name for span in delivered] == [span["name"] for span in live]
    for ours, theirs in zip(delivered, live, strict=True):
        expected = dict(ours.attributes or {})
        if "dispatch" in ours.name or "Suite" in ours.name:
            expected |= run.processes[0].record.conditions
            # Which process it is: delivered spans have that in their resource.
            assert theirs["attributes"].pop("process.pid") == theirs["pid"]
            assert theirs["attributes"].pop("process.parent_pid") == os.getpid()
            assert theirs["attributes"].pop("process.command_line").startswith(sys.executable)
        kinds = {key: type(value) for key, value in theirs["attributes"].items()}
        assert theirs["attributes"].pop("scenetest.duration_ns", 0) <= theirs["end"] - theirs["start"]
        same = {key: value for key, value in theirs["attributes"].items() if key not in CHANGES_FROM_RUN_TO_RUN}
        assert same == {key: value for key, value in expected.items() if key not in CHANGES_FROM_RUN_TO_RUN}
        assert kinds.items() >= {key: type(value) for key, value in expected.items()}.items()
        assert theirs["status"] == [ours.status.status_code.name, ours.status.description]


def test_a_dispatch_says_on_the_provider_how_long_it_lasted_by_the_two_clock_reads_of_the_journal(
    tmp_path: Path,
) -> None:
    exported, _ = run_live(
        f"""
instrument(tracer_provider=make_provider(), journal_dir={str(tmp_path)!r})
with case("S", "c"):
    for _ in range(5):
        with dispatch(): sum(range(1000))
""",
        tmp_path,
    )
    recorded = {span.span_id: span.duration_ns for _, span in only_process(only_run(tmp_path)).all_dispatches()}
    assert {
        s["id"]: s["attributes"].get("scenetest.duration_ns") for s in exported if "dispatch" in s["name"]
    } == recorded


def test_status_and_outcome_are_set_for_base_exceptions_too(tmp_path: Path) -> None:
    exported, _ = run_live(
        """
import pytest
instrument(tracer_provider=make_provider())
for ending in ("pass", "exit(0)", "assert False", "raise KeyError", "pytest.fail()", "pytest.skip()", "exit(2)"):
    try:
        with case("S", ending), dispatch(): exec(ending)
    except BaseException: pass
""",
        tmp_path,
    )
    dispatches, cases = exported[::2], exported[1::2]
    assert [(span["attributes"]["test.case.result.status"], *span["status"]) for span in cases] == [
        ("pass", "UNSET", None),
        ("pass", "UNSET", None),
        ("fail", "ERROR", "AssertionError"),
        ("error", "ERROR", "KeyError"),
        ("fail", "ERROR", "Failed"),
        ("skipped", "UNSET", None),
        ("error", "ERROR", "SystemExit"),
    ]
    assert [(s["attributes"]["scenetest.outcome"], s["attributes"].get("error.type"), s["status"]) for s in cases] == [
        (s["attributes"]["scenetest.outcome"], s["attributes"].get("error.type"), s["status"]) for s in dispatches
    ]


def test_conditions_are_those_at_each_dispatch_and_unknown_for_a_case_in_which_they_changed(tmp_path: Path) -> None:
    exported, _ = run_live(
        """
instrument(tracer_provider=make_provider())
with case("S", "c"):
    with dispatch(): pass
    import torch
    with dispatch(): pass
""",
        tmp_path,
        env={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )
    keys = ("torch.imported", "torch.backend_autoload.outcome")
    assert [tuple(span["attributes"][key] for key in keys) for span in exported] == [
        (False, "torch_not_imported"),
        (True, "disabled"),
        ("unknown", "unknown"),
    ]
    rulers = [span["attributes"]["scenetest.ruler"] for span in exported]
    assert rulers[0] != rulers[1]
    assert rulers[2] == "unknown"


GLOBAL = """
trace.set_tracer_provider(make_provider())
instrument()
with case("S", "c"):
    with dispatch(): pass
"""


def test_a_global_provider_is_used_where_neither_endpoint_nor_directory_was_given(tmp_path: Path) -> None:
    exported, _ = run_live(GLOBAL, tmp_path)
    assert [span["name"] for span in exported] == ["dispatch S::c", "S::c"]


def test_a_global_provider_is_left_alone_where_a_directory_was_given(tmp_path: Path) -> None:
    exported, _ = run_live(GLOBAL, tmp_path, env={"SCENETEST_OTEL_DIR": str(tmp_path / "store")})
    assert exported == []
    assert not any("live" in line for line in lines(tmp_path / "store"))


def test_a_global_provider_is_left_alone_where_the_process_joined_a_run(tmp_path: Path) -> None:
    run = run_file.make_run(str(tmp_path / "store"), by="run", command=["x"])
    exported, _ = run_live(GLOBAL, tmp_path, env={"SCENETEST_OTEL_RUN": run})
    assert exported == []
    assert len(list(spans.of_run(Path(run), {}))) == 2


def test_it_is_decided_when_a_case_opens(tmp_path: Path) -> None:
    exported, _ = run_live(
        """
instrument()
with case("S", "before"):
    trace.set_tracer_provider(make_provider())
    with dispatch(): pass
with case("S", "after"):
    with dispatch(): pass
""",
        tmp_path,
    )
    assert [span["name"] for span in exported] == ["dispatch S::after", "S::after"]


def test_a_provider_given_after_the_process_joined_a_run_is_used_and_nothing_is_delivered_twice(tmp_path: Path) -> None:
    run = run_file.make_run(str(tmp_path / "store"), by="run", command=["x"])
    facts = json.loads((Path(run) / layout.RUN_FILE).read_text())
    exported, _ = run_live(
        """
with case("S", "before"), dispatch(): pass
instrument(tracer_provider=make_provider())
with case("S", "after"), dispatch(): pass
with dispatch(): pass
""",
        tmp_path,
        env={"SCENETEST_OTEL_RUN": run},
    )
    assert [span.name for span in spans.of_run(Path(run), facts)] == ["dispatch S::before", "S::before"]
    case = one(exported, "S::after")
    assert (case["attributes"]["scenetest.run.id"], case["links"]) == (facts["id"], [facts["id"]])
    opened = [line for line in lines(tmp_path / "store") if line["kind"] == "open"][2:]
    assert {(line["id"], line["trace"], line["live"]) for line in opened} == {
        (span["id"], span["trace"], True) for span in exported
    }


def test_the_users_spans_nest_above_and_below_ours(tmp_path: Path) -> None:
    exported, _ = run_live(
        PROGRAMS / "live/nested_users_spans.py",
        tmp_path,
    )
    order = ["below", "dispatch S::c", "S::c", "above"]
    assert [span["name"] for span in exported] == order
    assert [span["parent"] for span in exported] == [*(one(exported, name)["id"] for name in order[1:]), None]


@pytest.mark.parametrize(("flags", "names"), [("01", ["dispatch S::c", "S::c"]), ("00", [])])
def test_a_traceparent_that_the_user_set_is_continued_with_its_sampling(
    flags: str, names: list[str], tmp_path: Path
) -> None:
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    exported, _ = run_live(GLOBAL, tmp_path, env={"TRACEPARENT": f"00-{trace}-{parent}-{flags}"})
    assert [span["name"] for span in exported] == names
    assert all(span["trace"] == trace for span in exported)
    assert all(span["parent"] == parent for span in exported if span["name"] == "S::c")


def test_an_unsampled_span_is_marked_in_the_journal_and_delivered_by_nobody(tmp_path: Path) -> None:
    exported, _ = run_live(
        f"""
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
provider = make_provider(sampler=ALWAYS_OFF)
instrument(tracer_provider=provider, journal_dir={str(tmp_path / "store")!r})
with case("S", "c"), dispatch():
    assert trace.get_current_span().get_span_context().is_valid
""",
        tmp_path,
    )
    opened = [line for line in lines(tmp_path / "store") if line["kind"] == "open"]
    assert [(line["span"], line["live"], line["flags"]) for line in opened] == [
        ("case", True, 2),
        ("dispatch", True, 2),
    ]
    run = only_run(tmp_path / "store")
    assert [span.outcome for _, span in only_process(run).all_dispatches()] == ["pass"]
    assert (exported, list(spans.of_run(run.path, run.facts))) == ([], [])


def test_a_provider_that_makes_no_spans_is_no_place_to_record(tmp_path: Path) -> None:
    script = f"instrument(tracer_provider=trace.NoOpTracerProvider(), journal_dir={str(tmp_path / 'store')!r})" + TREE
    run_live(script, tmp_path)
    run = only_run(tmp_path / "store")
    assert len(list(spans.of_run(run.path, run.facts))) == 6


FAULTS = """
import logging
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter
logging.basicConfig(format="%(name)s %(levelname)s %(message)s")
class Exporter(SpanExporter):
    def export(self, spans): raise RuntimeError("the backend is gone")
class Processor(SpanProcessor):
    def on_start(self, span, parent_context=None):
        if "on_start" in os.environ["FAULT"]: raise RuntimeError("on_start")
    def on_end(self, span):
        if "on_end" in os.environ["FAULT"]: raise RuntimeError("on_end")
provider = make_provider()
if os.environ["FAULT"] == "get_tracer":
    class Provider(TracerProvider):
        def get_tracer(self, *args, **keywords): raise RuntimeError("get_tracer")
    provider = Provider()
elif os.environ["FAULT"] == "export":
    provider.add_span_processor(SimpleSpanProcessor(Exporter()))
else:
    provider.add_span_processor(Processor())
instrument(tracer_provider=provider, journal_dir=os.environ["STORE"])
done = []
for _ in range(2):
    with case("S", "c"):
        for number in range(2):
            with dispatch(): done.append(number)
    assert not trace.get_current_span().get_span_context().is_valid
assert done == [0, 1, 0, 1]
"""


@pytest.mark.parametrize("fault", ["export", "get_tracer", "on_start", "on_end"])
def test_no_fault_of_the_users_provider_reaches_the_harness_or_the_journal(fault: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    _, done = run_live(FAULTS, tmp_path, env={"FAULT": fault, "STORE": str(store)})
    process = only_process(only_run(store))
    assert [[d.outcome for d in case.dispatches] for case in process.cases] == [["pass", "pass"]] * 2
    warnings = [line for line in done.stderr.splitlines() if line.startswith("opentelemetry.instrumentation.scenetest")]
    expected = (
        "opentelemetry.instrumentation.scenetest WARNING could not make spans with the program's own tracer provider,"
        f" the run goes on without it: RuntimeError: {fault}"
    )
    assert warnings == ([] if fault == "export" else [expected])


def test_uninstrument_lets_go_of_the_provider(tmp_path: Path) -> None:
    exported, _ = run_live(
        PROGRAMS / "live/uninstrumented.py",
        tmp_path,
    )
    assert [span["name"] for span in exported] == ["dispatch S::first", "S::first", "dispatch f", "uninstrumented.py"]


def test_a_backend_that_both_deliver_to_gets_each_span_once(tmp_path: Path) -> None:
    with serving(Backend()) as backend:
        run_live(
            PROGRAMS / "live/delivered_by_both.py",
            tmp_path,
            env={
                "OTEL_EXPORTER_OTLP_ENDPOINT": backend.url,
                "XDG_STATE_HOME": str(tmp_path),
                "SCENETEST_OTEL_EXIT_WAIT": "60",
            },
        )
    here, below = 4, 2
    assert (len(backend.taken), backend.repeats) == (here + below, 0)
