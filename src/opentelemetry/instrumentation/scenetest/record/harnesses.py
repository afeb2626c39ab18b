"""The harness that is recorded: recording knows it by this protocol only."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from opentelemetry.instrumentation.scenetest.conditions.values import Value

    class Harness(Protocol):
        """One harness, which is a package of its own below `harness/`."""

        __name__: str

        def install(self) -> None:
            """Hook its modules: those that are loaded now, the others once they are."""
            ...

        def uninstall(self) -> None:
            """Take every hook out again."""
            ...

        def is_loaded(self) -> bool:
            """Tell whether it is loaded in this process."""
            ...

        def conditions(self) -> dict[str, Value]:
            """Return the conditions that tell which harness this is."""
            ...

        def logs_autoload(self) -> bool:
            """Tell whether it writes the log line on torch's autoload itself."""
            ...

        def start_item(self, nodeid: str) -> None:
            """Note that a pytest item runs, by its node id: it is a case if it dispatches outside any case."""
            ...

        def end_item(self) -> None:
            """End the item that started last, and its case if there is one."""
            ...

        def keep_timings(self, source: str, text: str) -> None:
            """Keep output that was captured by `source`, if it holds timings of the harness's own."""
            ...

        def import_hooks(self) -> None:
            """Import all that its hooks need, so that a forked child imports nothing."""
            ...
