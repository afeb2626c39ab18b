"""Names for several ruler conditions at once, for `--allow GROUP`.

A group is a rule on names, so that a condition that is added later joins the group that it belongs to.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from opentelemetry.instrumentation.scenetest.conditions.table import RULER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Group(NamedTuple):
    """Ruler conditions that change together.

    Attributes:
        meaning: what they have in common.
        begins: what their attributes begin with.
    """

    meaning: str
    begins: tuple[str, ...]

    @property
    def attributes(self) -> frozenset[str]:
        """The ruler conditions of the group."""
        return frozenset(attribute for attribute in RULER if attribute.startswith(self.begins))


GROUPS: Final = {
    "autoload": Group(
        "what torch's backend autoload changes", ("torch.backend_autoload.", "torch.backends", "torch_npu.")
    ),
    "machine": Group("the CPU, and the CPUs that the process may use", ("host.", "scenetest.cpus")),
    "torch": Group("torch, its threads and its backends", ("torch.", "torch_npu.")),
    "variables": Group("the variables that the harness reads", ("scenetest.env.",)),
}
"""Every group by the name that `--allow` takes."""


def expand(names: Iterable[str]) -> frozenset[str]:
    """Return the conditions that these names stand for; what is no group stays as it is."""
    return frozenset(
        attribute for name in names for attribute in (GROUPS[name].attributes if name in GROUPS else (name,))
    )
