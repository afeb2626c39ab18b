"""Sampling: whose decision counts and what is propagated. All spans are recorded, sampled ones are delivered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.scripts import PROGRAMS, only_process, only_run, record, run_script

from opentelemetry.instrumentation.scenetest.deliver import spans

PROPAGATION = PROGRAMS / "otel/propagation.py"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CASES = """
instrument()
for number in range(100):
    with case("S", str(number)), phase("args"), dispatch(): pass
"""


def propagated(store: Path, *arguments: str, **env: str) -> dict[str, Any]:
    done = run_script(PROPAGATION, *arguments, env={"SCENETEST_OTEL_DIR": str(store), **env})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def delivered(store: Path) -> list[str]:
    run = only_run(store)
    return [span.name for span in spans.of_run(run.path, run.facts)]


def test_an_unsampled_parent_keeps_its_decision_and_its_state_and_everything_is_recorded(tmp_path: Path) -> None:
    seen = propagated(tmp_path, "incoming")
    (case, inner) = only_process(only_run(tmp_path)).cases
    assert seen == {
        "traceparent": f"00-{TRACE}-{inner.dispatches[0].span_id}-00",
        "tracestate": "vendor=1",
        "exported": [],
    }
    assert (case.span.parent_id, case.span.parent_is_remote) == (PARENT, True)
    assert (inner.span.parent_id, inner.span.parent_is_remote) == (case.span.span_id, False)
    assert inner.dispatches[0].outcome == "pass"
    assert delivered(tmp_path) == []


def test_a_traceparent_of_the_environment_is_kept_with_flags_and_state(tmp_path: Path) -> None:
    environment = {"TRACEPARENT": f"00-{TRACE}-{PARENT}-03", "TRACESTATE": "a=1,b=2"}
    seen = propagated(tmp_path, **environment)
    dispatch = only_process(only_run(tmp_path)).cases[1].dispatches[0]
    assert seen["traceparent"] == f"00-{TRACE}-{dispatch.span_id}-03"
    assert (seen["tracestate"], seen["exported"]) == ("a=1,b=2", ["inner"])
    assert len(delivered(tmp_path)) == 3


def test_without_a_sampler_every_case_is_delivered_and_sampled(tmp_path: Path) -> None:
    seen = propagated(tmp_path)
    assert (seen["traceparent"][-3:], seen["exported"]) == ("-03", ["inner"])
    assert len(delivered(tmp_path)) == 3


def test_a_provider_that_samples_no_root_exports_no_orphans_and_our_cases_are_delivered(tmp_path: Path) -> None:
    seen = propagated(tmp_path, "off")
    assert (seen["traceparent"][-3:], seen["exported"]) == ("-02", [])
    assert len(delivered(tmp_path)) == 3


@pytest.mark.parametrize(
    ("sampler", "argument", "low", "high"),
    [
        ("always_on", "", 100, 100),
        ("parentbased_always_off", "", 0, 0),
        ("always_off", "", 0, 0),
        ("parentbased_traceidratio", "0.3", 5, 60),
        ("traceidratio", "", 100, 100),
        ("traceidratio", "two", 100, 100),
    ],
)
def test_cases_without_a_parent_follow_the_sampler_if_one_is_set(
    sampler: str, argument: str, low: int, high: int, tmp_path: Path
) -> None:
    run = record(CASES, tmp_path, env={"OTEL_TRACES_SAMPLER": sampler, "OTEL_TRACES_SAMPLER_ARG": argument})
    assert len(only_process(run).cases) == 100
    assert low * 3 <= len(delivered(tmp_path)) <= high * 3


def test_a_ratio_decides_as_the_sampler_of_the_sdk(tmp_path: Path) -> None:
    from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

    run = record(CASES, tmp_path, env={"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"})
    sampler = TraceIdRatioBased(0.5)
    for case in only_process(run).cases:
        decision = sampler.should_sample(None, int(case.span.trace_id, 16), "").decision
        assert decision.is_sampled() is case.span.carried.is_sampled
        assert case.dispatches[0].carried.is_sampled is case.span.carried.is_sampled


def test_a_sampler_that_is_not_built_in_is_named_and_everything_is_sampled(tmp_path: Path) -> None:
    env = {"OTEL_TRACES_SAMPLER": "ours", "SCENETEST_OTEL_DIR": str(tmp_path)}
    done = run_script(CASES, env=env)
    assert done.stderr == "OTEL_TRACES_SAMPLER='ours' is not known here: all cases are sampled\n"
    assert len(delivered(tmp_path)) == 300


def test_dispatches_outside_any_case_follow_the_span_of_their_process(tmp_path: Path) -> None:
    run = record("instrument()\nwith dispatch(): pass", tmp_path, env={"TRACEPARENT": f"00-{TRACE}-{PARENT}-00"})
    process = only_process(run)
    assert (process.dispatches[0].trace_id, process.dispatches[0].carried.is_sampled) == (TRACE, False)
    assert delivered(tmp_path) == []


def test_nothing_is_recorded_where_the_program_suppresses_instrumentations(tmp_path: Path) -> None:
    run = record(
        """
from opentelemetry import context
from opentelemetry.instrumentation.utils import suppress_instrumentation
instrument()
# As the exporters of the SDK do.
token = context.attach(context.set_value(context._SUPPRESS_INSTRUMENTATION_KEY, True))
with case("S", "hidden too"): pass
context.detach(token)
with suppress_instrumentation():
    with case("S", "hidden"), phase("args"), dispatch(): pass
with case("S", "c"):
    with suppress_instrumentation(), dispatch(): pass
    with dispatch(): pass
""",
        tmp_path,
    )
    (case,) = only_process(run).cases
    assert (case.span.name, [one.round for one in case.dispatches]) == ("c", [0])
