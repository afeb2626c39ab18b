"""CPU quotas and containers, as the kernel tells of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from opentelemetry.instrumentation.scenetest.conditions.system import CpuQuota, container_id

ID = "4f" * 32


def test_the_smallest_quota_of_a_cgroup_and_those_above_it_holds(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "outer" / "cpu.max").write_text("150000 100000\n")
    (inner / "cpu.max").write_text("max 100000\n")
    quota = CpuQuota(str(tmp_path))
    assert quota.read("0::/outer/inner") == "1.5"
    (inner / "cpu.max").write_text("50000 100000\n")
    assert quota.read("0::/outer/inner") == "0.5"
    assert quota.read("0::/") == "max"


def test_the_quota_of_the_first_version_of_cgroups(tmp_path: Path) -> None:
    group = tmp_path / "cpu,cpuacct" / "docker"
    group.mkdir(parents=True)
    (group / "cpu.cfs_quota_us").write_text("200000")
    (group / "cpu.cfs_period_us").write_text("100000")
    assert CpuQuota(str(tmp_path)).read("3:cpuset:/\n2:cpu,cpuacct:/docker\n0::/") == "2"
    (group / "cpu.cfs_quota_us").write_text("-1")
    assert CpuQuota(str(tmp_path)).read("2:cpu,cpuacct:/docker") == "max"


@pytest.mark.parametrize(
    ("membership", "mounts", "expected"),
    [
        (f"0::/system.slice/docker-{ID}.scope", "", ID),
        (f"4:memory:/kubepods/pod1/{ID}", "", ID),
        ("0::/", f"600 599 254:1 /var/lib/docker/containers/{ID}/hostname /etc/hostname rw", ID),
        ("0::/user.slice", "25 1 8:1 / / rw", None),
    ],
)
def test_the_id_of_a_container(membership: str, mounts: str, expected: str | None) -> None:
    assert container_id(membership, mounts) == expected
