"""Groups of ruler conditions, for `--allow GROUP`."""

from __future__ import annotations

import pytest

from opentelemetry.instrumentation.scenetest.conditions.groups import GROUPS, expand
from opentelemetry.instrumentation.scenetest.conditions.table import RULER


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_has_members_and_is_no_condition_itself(name: str) -> None:
    assert GROUPS[name].attributes
    assert name not in RULER


def test_autoload_stands_for_all_that_torchs_backend_autoload_changes() -> None:
    assert expand(["autoload"]) >= {
        "torch.backend_autoload.effective",
        "torch.backend_autoload.outcome",
        "torch_npu.loaded",
        "torch_npu.version",
    }
    assert "torch.version" not in expand(["autoload"])


def test_what_is_no_group_stays() -> None:
    assert expand(["torch.version", "nonsense"]) == {"torch.version", "nonsense"}
