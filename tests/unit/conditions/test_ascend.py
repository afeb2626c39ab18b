"""Versions of Ascend's software, read from the files that its installers leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from opentelemetry.instrumentation.scenetest.conditions import ascend


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("# version\nruntime_running_version=[7.5.0.1.129:8.0.RC3]\n", "7.5.0.1.129:8.0.RC3"),
        ("x_upgrade_version=[7.6:8.1]\nx_running_version=[7.5:8.0]\nopp_running_version=[1:2]\n", "7.5:8.0"),
        ("runtime_installed_version=[7.5:8.0]\n", None),
        ("", None),
    ],
)
def test_the_version_of_cann(text: str, version: str | None, tmp_path: Path) -> None:
    (tmp_path / "version.cfg").write_text(text)
    assert ascend.cann_version(str(tmp_path)) == version


def test_driver_and_firmware_are_found_where_the_installer_says(tmp_path: Path) -> None:
    info = tmp_path / "ascend_install.info"
    info.write_text(f"Driver_Install_Path_Param={tmp_path}\nFirmware_Install_Path_Param={tmp_path}\n")
    for part, version in (("driver", "24.1.rc2"), ("firmware", "7.3.0.1.231")):
        (tmp_path / part).mkdir()
        (tmp_path / part / "version.info").write_text(f"Version={version}\nrequired_package=x\n")
    assert ascend.version_of("driver", str(info)) == "24.1.rc2"
    assert ascend.version_of("firmware", str(info)) == "7.3.0.1.231"


def test_a_machine_without_them_has_no_versions(tmp_path: Path) -> None:
    info = tmp_path / "ascend_install.info"
    info.write_text(f"Driver_Install_Path_Param={tmp_path}\n")
    assert ascend.version_of("driver", str(info)) is None
