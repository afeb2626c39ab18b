"""Whether a run was measured with a device backend in the process: the first thing that its reader wants to know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from opentelemetry.instrumentation.scenetest.analyse.runs import Run
from opentelemetry.instrumentation.scenetest.conditions.values import NOT_RECORDED, UNKNOWN, Value

Word = Literal["CLEAN", "CONTAMINATED", "UNKNOWN"]
VARIABLE = "TORCH_DEVICE_BACKEND_AUTOLOAD"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One word and what it rests on."""

    word: Word
    reason: str


def verdict(run: Run) -> Verdict:
    """Tell whether a device backend was loaded into a process of the run.

    A backend that was loaded in one process contaminates the run. Clean needs every process to be known to be.
    """
    found = [_of_process(process.record.conditions) for process in run.processes]
    for word in ("CONTAMINATED", "UNKNOWN", "CLEAN"):
        reasons = Counter(one.reason for one in found if one.word == word)
        if reasons:
            counted = "; ".join(f"{reason}, {count} of {len(found)} processes" for reason, count in reasons.items())
            return Verdict(word, counted)
    return Verdict("UNKNOWN", "no process recorded anything")


def setting(conditions: Mapping[str, Value]) -> str:
    """Return the variable as a reader expects it: `unset`, or its value in quotes."""
    value = conditions.get("torch.backend_autoload.setting", UNKNOWN)
    if value in ("unset", UNKNOWN):
        return str(value)
    return str(value) if str(value).startswith('"') else f'"{value}"'


def _of_process(conditions: Mapping[str, Value]) -> Verdict:
    outcome = conditions.get("torch.backend_autoload.outcome", UNKNOWN)
    loaded = conditions.get("torch_npu.loaded", UNKNOWN)
    environment = f"{VARIABLE} {setting(conditions)}"
    backends = conditions.get("torch.backend_autoload.backends")
    if loaded is True:
        version = f" {conditions['torch_npu.version']}" if "torch_npu.version" in conditions else ""
        by = {"autoload": "by `import torch`", "import": "by an import of its own"}
        how = by.get(str(conditions.get("torch_npu.loaded_by")), "by what is unknown")
        return Verdict("CONTAMINATED", f"torch_npu{version} was loaded {how} ({environment})")
    if outcome == "loaded":
        return Verdict("CONTAMINATED", f"{backends or 'a backend'} was loaded by `import torch` ({environment})")
    if outcome == "failed":
        tried = conditions.get("torch.backend_autoload.failed_backend") or backends or "a backend"
        return Verdict("CONTAMINATED", f"`import torch` ran {tried}, which failed to load ({environment})")
    if NOT_RECORDED in (outcome, loaded):
        return Verdict("UNKNOWN", f"a log alone does not tell which backends were loaded ({environment})")
    if outcome == UNKNOWN or loaded == UNKNOWN:
        return Verdict("UNKNOWN", f"torch was imported before anything observed it ({environment})")
    reasons = {
        "disabled": f"autoload was disabled ({environment})",
        "no_backend": f"autoload was enabled and no backend is installed ({environment})",
        "torch_not_imported": "torch was not imported",
    }
    return Verdict("CLEAN", reasons.get(str(outcome), f"autoload: {outcome} ({environment})"))
