"""The environment variable that switches torch's backend autoload on and off, and how torch reads it.

It is loaded at the start of every interpreter of a run, so it imports nothing.
"""

from __future__ import annotations

VARIABLE = "TORCH_DEVICE_BACKEND_AUTOLOAD"


def enabled_by(value: str | None) -> bool:
    """Whether torch autoloads at this value of the variable (None: unset).

    The same as `torch._is_device_backend_autoload_enabled`, which has not changed from 2.5.0 to 2.15.0.
    """
    return (value if value is not None else "1") == "1"
