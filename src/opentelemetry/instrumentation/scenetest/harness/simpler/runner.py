"""Hook on `simpler_setup.parallel_scheduler`: a job with an environment of its own is told which run it belongs to."""

from __future__ import annotations

from copy import copy
from functools import wraps

from opentelemetry.instrumentation.scenetest import faults
from opentelemetry.instrumentation.scenetest.harness.simpler import outputs
from opentelemetry.instrumentation.scenetest.harness.simpler.wrapping import Hook
from opentelemetry.instrumentation.scenetest.record.state import state
from opentelemetry.instrumentation.scenetest.rundir import layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from opentelemetry.instrumentation.scenetest.harness.simpler.wrapping import Function


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
                # The runner prints no output of a child, not even of one that failed.
                outputs.save("runner", result.output)
        except Exception as error:
            faults.swallow("keep the output of the runner's children", error)
        return results

    return run_jobs


def _joined(job: Any) -> Any:
    if job.env is None or state.directory is None:  # None is inherited, and so is the variable
        return job
    joined = copy(job)
    joined.env = {**job.env, layout.RUN_VARIABLE: state.directory}
    return joined


HOOKS = (Hook("run_jobs", _run_jobs, "what a job with an environment of its own does"),)
