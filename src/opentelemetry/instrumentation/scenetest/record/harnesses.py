"""The protocol of a harness. The recorder knows nothing else about harnesses."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from opentelemetry.instrumentation.scenetest.conditions.values import Value

    class Harness(Protocol):
        """One harness: a package below `harness/`."""

        __name__: str

        def install(self) -> None:
            """Hook its modules: loaded ones now, the others when they are imported."""
            ...

        def uninstall(self) -> None:
            """Remove all hooks."""
            ...

        def is_loaded(self) -> bool:
            """Return whether this process has loaded the harness."""
            ...

        def conditions(self) -> dict[str, Value]:
            """Return the conditions that identify the harness, such as its version."""
            ...

        def logs_autoload(self) -> bool:
            """Return whether the harness itself logs the line on torch's autoload."""
            ...

        def start_item(self, nodeid: str) -> None:
            """Note that a pytest item starts. It becomes a case if it dispatches outside any case.

            Args:
                nodeid: the node id of the item.
            """
            ...

        def end_item(self) -> None:
            """End the item that started last, and its case if it has one."""
            ...

        def keep_timings(self, source: str, text: str) -> None:
            """Store captured output if it contains timings that the harness printed.

            Args:
                source: what captured the output.
                text: the output.
            """
            ...

        def import_hooks(self) -> None:
            """Import everything that the hooks need, so that a forked child imports nothing."""
            ...
