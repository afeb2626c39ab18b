"""Hook on `simpler_setup.parallel_scheduler`, which starts Python processes and captures their output.

A job with its own environment gets the variable that names the run. Captured output with native timings is kept in a
log, because the harness does not print it.
"""

from __future__ import annotations

from copy import copy
from functools import wraps

from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.harness.wrapping import Hook
from opentelemetry.instrumentation.scenetest.native import markers
from opentelemetry.instrumentation.scenetest.record.state import state
from opentelemetry.instrumentation.scenetest.rundir import layout, logs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from opentelemetry.instrumentation.scenetest.harness.wrapping import Function


def keep_timings(source: str, text: str) -> None:
    """Keep captured output in a log of the run if it holds native timings.

    Args:
        source: the name of what captured it.
        text: the output.
    """
    try:
        if state.directory is not None and markers.has_timings(text):
            logs.keep(state.directory, source, text)
    except Exception as error:
        faults.swallow(f"keep the output that {source} captured", error)


def _run_jobs(original: Function) -> Function:
    @wraps(original)
    def run_jobs(jobs: Any, *args: Any, **keywords: Any) -> Any:
        try:
            jobs = [_joined(job) for job in jobs]
        except Exception as error:
            faults.swallow("have the runner's children join the run", error)
        results = original(jobs, *args, **keywords)
        try:
            for result in results:
                # The harness never prints the output of a child, even if the child failed.
                keep_timings("runner", result.output)
        except Exception as error:
            faults.swallow("keep the output of the runner's children", error)
        return results

    return run_jobs


def _joined(job: Any) -> Any:
    if job.env is None or state.directory is None:  # with None the child inherits the variable
        return job
    joined = copy(job)
    joined.env = {**job.env, layout.RUN_VARIABLE: state.directory}
    return joined


HOOKS = (Hook("run_jobs", _run_jobs, "what a job with its own environment does"),)
