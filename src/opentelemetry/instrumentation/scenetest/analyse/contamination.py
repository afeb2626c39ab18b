"""Whether a run was measured with a device backend in the process: the first thing that its reader wants to know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from opentelemetry.instrumentation.scenetest.analyse.runs import Process, Run
from opentelemetry.instrumentation.scenetest.conditions.autoload_setting import VARIABLE
from opentelemetry.instrumentation.scenetest.conditions.torch import BACKENDS_LOADED
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, UNKNOWN, Value

Word = Literal["CLEAN", "CONTAMINATED", "UNKNOWN"]
WORDS: Mapping[Word, Literal["good", "bad", "doubtful"]] = {
    "CONTAMINATED": "bad",
    "UNKNOWN": "doubtful",
    "CLEAN": "good",
}
"""Every word with what it means to the reader, the worst first. Renderers choose a color by the meaning."""

_BY_ITSELF = "by an import of the program's own"


@dataclass(frozen=True, slots=True)
class Contamination:
    """The verdict on a run.

    Attributes:
        word: the verdict.
        reason: why, as a sentence for the reader.
    """

    word: Word
    reason: str


def verdict(run: Run) -> Contamination:
    """Tell whether a device backend was loaded into a process of the run.

    A backend that was loaded in one process contaminates the run. A run is clean only if every process is known to have
    been clean whenever something was recorded in it.
    """
    found = [_of_process(process) for process in run.processes]
    for word in WORDS:
        reasons = Counter(one.reason for one in found if one.word == word)
        if reasons:
            counted = "; ".join(f"{reason}, {count} of {len(found)} processes" for reason, count in reasons.items())
            return Contamination(word, counted)
    return Contamination("UNKNOWN", "no process recorded anything")


def setting(conditions: Mapping[str, Value]) -> str:
    """Return the variable as a reader expects it: `unset`, or its value in quotes."""
    value = conditions.get("torch.backend_autoload.setting", UNKNOWN)
    if value in ("unset", UNKNOWN):
        return str(value)
    return str(value) if str(value).startswith('"') else f'"{value}"'


def _of_process(process: Process) -> Contamination:
    """Return the worst verdict over all sets of conditions under which the process recorded something."""
    found = [_of_conditions(conditions) for conditions in process.sets]
    if process.record.unobserved:
        found.append(Contamination("UNKNOWN", "the process was lost, and nobody saw what its last dispatch loaded"))
    return next(one for word in WORDS for one in reversed(found) if one.word == word)


def _of_conditions(conditions: Mapping[str, Value]) -> Contamination:
    outcome = conditions.get("torch.backend_autoload.outcome", UNKNOWN)
    loaded = conditions.get("torch_npu.loaded", UNKNOWN)
    environment = f"{VARIABLE} {setting(conditions)}"
    backends = conditions.get("torch.backend_autoload.backends")
    others = conditions.get(BACKENDS_LOADED, NOT_RECORDED)
    if outcome == "failed":
        tried = conditions.get("torch.backend_autoload.failed_backend") or backends or "a backend"
        return Contamination("CONTAMINATED", f"`import torch` ran {tried}, which failed to load ({environment})")
    if loaded is True:
        version = conditions.get("torch_npu.version", UNKNOWN)
        name = "torch_npu" if version == UNKNOWN else f"torch_npu {version}"
        by = {"autoload": "by `import torch`", "import": _BY_ITSELF}
        how = by.get(str(conditions.get("torch_npu.loaded_by")), "in an unknown way")
        return Contamination("CONTAMINATED", f"{name} was loaded {how} ({environment})")
    if outcome == "loaded":
        return Contamination("CONTAMINATED", f"{backends or 'a backend'} was loaded by `import torch` ({environment})")
    if others not in ("", UNKNOWN, NOT_RECORDED):
        return Contamination("CONTAMINATED", f"{others} was loaded {_BY_ITSELF} ({environment})")
    if NOT_RECORDED in (outcome, loaded):
        return Contamination("UNKNOWN", f"a log alone does not tell which backends were loaded ({environment})")
    if outcome == UNKNOWN or (loaded == UNKNOWN and others != UNKNOWN):
        return Contamination("UNKNOWN", f"torch was imported before anything observed it ({environment})")
    if others == UNKNOWN or (others == NOT_RECORDED and backends):
        return Contamination("UNKNOWN", f"whether the program loaded {backends or 'a backend'} itself is not known")
    reasons = {
        "disabled": f"autoload was disabled ({environment})",
        "no_backend": f"autoload was enabled and no backend is installed ({environment})",
        "torch_not_imported": "torch was not imported",
    }
    return Contamination("CLEAN", reasons.get(str(outcome), f"autoload: {outcome} ({environment})"))
