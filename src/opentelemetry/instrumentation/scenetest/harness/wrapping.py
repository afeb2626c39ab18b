"""Wraps functions of the harness, and restores the original objects."""

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
            wrap: takes the original and returns its wrapper.
            records: what is not recorded without it.
        """

        path: str
        wrap: Callable[[Function], Function]
        records: str

else:
    from collections import namedtuple

    Hook = namedtuple("Hook", "path wrap records")

_installed: list[tuple[object, str, Function, Function]] = []
"""The object that holds it, name, original and wrapper of each installed hook, in the order of installation."""


def apply(module: ModuleType, hooks: Sequence[Hook]) -> None:
    """Install the hooks that are not installed yet. Warn once about a name that the module does not have."""
    for hook in hooks:
        holder, name = _holder(module, hook.path)
        original = None if holder is None else vars(holder).get(name)
        if holder is None or original is None:
            faults.warn_once(f"{module.__name__} has no {hook.path}, so {hook.records} is not recorded")
        elif not any(original is wrapper for *_, wrapper in _installed):
            wrapper = hook.wrap(original)
            setattr(holder, name, wrapper)
            _installed.append((holder, name, original, wrapper))


def is_there(module: ModuleType, hook: Hook) -> bool:
    """Tell whether a module has the function that a hook wraps."""
    holder, name = _holder(module, hook.path)
    return holder is not None and name in vars(holder)


def restore() -> None:
    """Restore every original, unless somebody else has replaced our wrapper."""
    while _installed:
        holder, name, original, wrapper = _installed.pop()
        if vars(holder).get(name) is wrapper:
            setattr(holder, name, original)


def _holder(module: ModuleType, path: str) -> tuple[object | None, str]:
    class_name, _, name = path.rpartition(".")
    return (getattr(module, class_name, None) if class_name else module), name
