"""Conditions of a machine with Ascend devices: versions of its driver, firmware and CANN."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from opentelemetry.instrumentation.scenetest.conditions.condition import Condition, Seen
from opentelemetry.instrumentation.scenetest.conditions.files import read
from opentelemetry.instrumentation.scenetest.conditions.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable

_HOME = "/usr/local/Ascend"
_INSTALL_INFO = "/etc/ascend_install.info"
_WHY = "another version runs other code on the host and on the device"


def version_of(part: str, install_info: str = _INSTALL_INFO) -> str | None:
    """Return the version of the `driver` or `firmware`, None where it is not installed.

    Args:
        part: which of the two.
        install_info: the file that says where they are, as `Driver_Install_Path_Param=/usr/local/Ascend`.
    """
    home = _field(read(install_info), f"{part.capitalize()}_Install_Path_Param") or _HOME
    return _field(read(os.path.join(home, part, "version.info")), "Version")


def cann_version(home: str | None) -> str | None:
    """Return the version of CANN, None where there is none.

    Args:
        home: `ASCEND_HOME_PATH`; without it the usual place is looked at.
    """
    text = read(os.path.join(home or os.path.join(_HOME, "ascend-toolkit", "latest"), "version.cfg"))
    # version.cfg: a line such as runtime_running_version=[7.5.0.1.129:8.0.RC3]
    running = [line.partition("=")[2].strip("[] ") for line in text.splitlines() if "running_version" in line]
    return running[0] if running else None


def _field(text: str, name: str) -> str | None:
    lines = (line.partition("=") for line in text.splitlines())
    return next((value.strip() for key, _, value in lines if key.strip().lower() == name.lower()), None)


def _installed(part: str) -> Callable[[Seen], Value | None]:
    return lambda _: version_of(part)


def _cann(_: Seen) -> Value | None:
    return cann_version(os.environ.get("ASCEND_HOME_PATH"))


ASCEND: Final = (
    Condition(
        "scenetest.ascend.driver",
        str,
        "process",
        "ruler",
        meaning="version of the Ascend driver; absent where there is none",
        observed="driver/version.info below the path that /etc/ascend_install.info names",
        why=_WHY,
        observe=_installed("driver"),
        moment="once",
        schema=2,
    ),
    Condition(
        "scenetest.ascend.firmware",
        str,
        "process",
        "ruler",
        meaning="version of the Ascend firmware; absent where there is none",
        observed="firmware/version.info below the path that /etc/ascend_install.info names",
        why=_WHY,
        observe=_installed("firmware"),
        moment="once",
        schema=2,
    ),
    Condition(
        "scenetest.cann.version",
        str,
        "process",
        "ruler",
        meaning="version of CANN; absent where there is none",
        observed="version.cfg below ASCEND_HOME_PATH",
        why=_WHY,
        observe=_cann,
        moment="once",
        schema=2,
    ),
)
