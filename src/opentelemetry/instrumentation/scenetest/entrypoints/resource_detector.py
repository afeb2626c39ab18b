"""The resource detector: adds the launch conditions of a torch program to the resource of its own tracer provider.

Enable it with `OTEL_EXPERIMENTAL_RESOURCE_DETECTORS=scenetest`. A provider's resource never changes, so it holds only
what is fixed at launch. What torch does later is on the spans of cases and dispatches.
"""

from __future__ import annotations

import json
import os

from opentelemetry.sdk.resources import Resource, ResourceDetector

from opentelemetry.instrumentation.scenetest.conditions import host
from opentelemetry.instrumentation.scenetest.conditions.files import read
from opentelemetry.instrumentation.scenetest.conditions.logline import SETTING_LIMIT, spell
from opentelemetry.instrumentation.scenetest.conditions.values import UNKNOWN, Value
from opentelemetry.instrumentation.scenetest.record import autoload
from opentelemetry.instrumentation.scenetest.record.finder import NotSeen, variable
from opentelemetry.instrumentation.scenetest.rundir import layout
from opentelemetry.instrumentation.scenetest.semantics import clean


class SceneTestResourceDetector(ResourceDetector):
    """Adds the launch conditions to a resource.

    The SDK calls it in a thread, perhaps while another thread holds an import lock. So it imports nothing, takes no
    lock, and keeps no state that would be wrong after a fork.
    """

    def detect(self) -> Resource:
        """Return the launch setting of torch's autoload, the host, and the run that this process belongs to."""
        system = os.uname()
        run = _run()
        return Resource(
            clean(
                {
                    **_setting(),
                    "host.arch": system.machine,
                    "host.cpu.model.name": host.cpu_model(),
                    "host.name": system.nodename,
                    "scenetest.boot_id": host.boot_id(),
                    "scenetest.run.id": run.get("id"),
                    "scenetest.run.name": run.get("name"),
                }
            )
        )


def _setting() -> dict[str, Value]:
    """Return the setting at launch; `unknown` if the variable was changed since, as torch may see either value."""
    launch = autoload.launch_value()
    found: dict[str, Value] = {"torch.backend_autoload.captured": "at_launch"}
    if isinstance(launch, NotSeen) or launch != variable():
        return {**found, "torch.backend_autoload.setting": UNKNOWN}
    if launch is not None and len(launch) > SETTING_LIMIT:
        found["torch.backend_autoload.setting_truncated"] = True
    return {**found, "torch.backend_autoload.setting": spell(launch)}


def _run() -> dict[str, Value]:
    directory = os.environ.get(layout.RUN_VARIABLE)
    try:
        return json.loads(read(os.path.join(directory, layout.RUN_FILE))) if directory else {}
    except ValueError:
        return {}
