"""Puts wrappers in the place of the harness's functions, and the identical functions back."""

from __future__ import annotations

from opentelemetry.instrumentation.scenetest import faults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType
    from typing import Any, NamedTuple, TypeAlias

    Function: TypeAlias = Callable[..., Any]

    class Hook(NamedTuple):
        """One function to wrap.

        Attributes:
            path: where it is in its module: `Class.method` or `function`.
            wrap: gives the wrapper of the original.
            records: what is not recorded without it.
        """

        path: str
        wrap: Callable[[Function], Function]
        records: str

else:
    from collections import namedtuple

    Hook = namedtuple("Hook", "path wrap records")

_done: list[tuple[object, str, Function, Function]] = []
"""Owner, name, original and wrapper of every hook in place, in the order in which they were put there."""


def apply(module: ModuleType, hooks: Sequence[Hook]) -> None:
    """Wrap what is not wrapped yet; warn once of what is not there."""
    for hook in hooks:
        owner, name = _owner(module, hook.path)
        original = None if owner is None else vars(owner).get(name)
        if owner is None or original is None:
            faults.warn_once(f"{module.__name__} has no {hook.path}, so {hook.records} is not recorded")
        elif not any(original is wrapper for *_, wrapper in _done):
            wrapper = hook.wrap(original)
            setattr(owner, name, wrapper)
            _done.append((owner, name, original, wrapper))


def is_there(module: ModuleType, hook: Hook) -> bool:
    """Tell whether a module has what a hook wraps."""
    owner, name = _owner(module, hook.path)
    return owner is not None and name in vars(owner)


def restore() -> None:
    """Put every original back, but where somebody else has put something of theirs on top."""
    while _done:
        owner, name, original, wrapper = _done.pop()
        if vars(owner).get(name) is wrapper:
            setattr(owner, name, original)


def _owner(module: ModuleType, path: str) -> tuple[object | None, str]:
    owner, _, name = path.rpartition(".")
    return (getattr(module, owner, None) if owner else module), name
