"""What the observations of an import of torch say about its backend autoload."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import ref

import pytest

from opentelemetry.instrumentation.scenetest.conditions import autoload_setting
from opentelemetry.instrumentation.scenetest.record import autoload
from opentelemetry.instrumentation.scenetest.record.finder import NOT_SEEN, Import, NotSeen

if TYPE_CHECKING:
    from collections.abc import Callable

VARIABLE = "TORCH_DEVICE_BACKEND_AUTOLOAD"
SWITCH = "_is_device_backend_autoload_enabled"
NEW_TORCH: dict[str, object] = {"__version__": "2.5.0", SWITCH: None}
OLD_TORCH: dict[str, object] = {"__version__": "2.4.0"}
FIRST = EntryPoint("first", "first_backend:load", "torch.backends")
SECOND = EntryPoint("second", "second_backend:load", "torch.backends")


@pytest.fixture(autouse=True)
def _no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "torch._native", "torch_npu", FIRST.module, SECOND.module):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.delenv("TORCH_LOGS", raising=False)
    monkeypatch.setattr(autoload._known, "came_late", False)
    monkeypatch.setattr(autoload._known, "launch", NOT_SEEN)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def load(*names: str) -> None:
        for name in names:
            monkeypatch.setitem(sys.modules, name, ModuleType(name))

    return load


def seen(setting: str | None, *, asked: bool = False, steady: bool = True, failed: bool = False) -> Import:
    found = Import(setting)
    found.steady, found.failed = steady, failed
    found.began = 1 if asked else None
    return found


@pytest.mark.parametrize(
    ("value", "enabled"),
    [(None, True), ("1", True), ("", False), ("0", False), (" 1", False), ("01", False), ("true", False)],
)
def test_torch_autoloads_at_exactly_one_or_unset(value: str | None, enabled: bool) -> None:
    assert autoload_setting.enabled_by(value) is enabled


@pytest.mark.parametrize(
    ("observed", "torch", "registered", "verdict"),
    [
        (seen("1", asked=True), NEW_TORCH, (FIRST,), ("at_import", "1", "enabled", "loaded")),
        (seen(None, asked=True), NEW_TORCH, (), ("at_import", None, "enabled", "no_backend")),
        (seen("1", asked=True), NEW_TORCH, None, ("at_import", "1", "enabled", "unknown")),
        (seen("1", asked=True), None, (FIRST,), ("at_import", "1", "enabled", "unknown")),
        # The call proves `enabled`, so a value that contradicts it is not the one that torch saw.
        (seen("0", asked=True), NEW_TORCH, (FIRST,), ("at_import", NOT_SEEN, "enabled", "loaded")),
        (seen("1", asked=True, steady=False), NEW_TORCH, (), ("at_import", NOT_SEEN, "enabled", "no_backend")),
        (seen("0"), None, (FIRST,), ("at_import", NOT_SEEN, "unknown", "unknown")),
        (seen("1"), OLD_TORCH, (FIRST,), ("at_import", "1", "unsupported", "disabled")),
        (seen("1", steady=False), OLD_TORCH, (FIRST,), ("at_import", NOT_SEEN, "unsupported", "disabled")),
        # The finder was not on sys.meta_path, so it could not have seen the call.
        (seen("0"), NEW_TORCH, (FIRST,), ("at_import", NOT_SEEN, "unknown", "unknown")),
    ],
)
def test_an_observed_import_of_a_torch_that_is_there(
    observed: Import,
    torch: dict[str, object] | None,
    registered: tuple[EntryPoint, ...] | None,
    verdict: tuple[object, ...],
    loaded: Callable[..., None],
) -> None:
    loaded("torch")
    assert autoload._verdict(observed, torch, registered) == verdict


@pytest.mark.parametrize(
    ("setting", "verdict"),
    [
        ("0", ("at_import", "0", "disabled", "disabled")),
        ("1", ("at_import", NOT_SEEN, "unknown", "unknown")),
    ],
)
def test_silence_counts_as_disabled_only_where_the_variable_says_so(
    setting: str, verdict: tuple[object, ...], loaded: Callable[..., None]
) -> None:
    sys.meta_path.insert(0, autoload._finder)
    loaded("torch")
    assert autoload._verdict(seen(setting), NEW_TORCH, (FIRST,)) == verdict


def test_silence_proves_nothing_where_the_end_of_the_import_was_missed(loaded: Callable[..., None]) -> None:
    sys.meta_path.insert(0, autoload._finder)
    loaded("torch", "torch._native")
    assert autoload._verdict(seen("0"), NEW_TORCH, ()) == ("at_import", NOT_SEEN, "unknown", "unknown")


@pytest.mark.parametrize(
    ("failed", "registered", "modules", "logs", "outcome"),
    [
        (True, (FIRST,), (), None, "failed"),
        (True, None, (), None, "failed"),
        (True, (), (), None, "torch_not_imported"),
        (False, (FIRST,), (), None, "torch_not_imported"),
        # torch reads TORCH_LOGS after its backends, and fails at a bad value: all of them may have loaded.
        (True, (FIRST,), (FIRST.module,), "bad", "unknown"),
        (True, (FIRST,), (), "bad", "failed"),
    ],
)
def test_an_enabled_autoload_after_which_torch_was_gone(
    failed: bool,
    registered: tuple[EntryPoint, ...] | None,
    modules: tuple[str, ...],
    logs: str | None,
    outcome: str,
    loaded: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded(*modules)
    if logs is not None:
        monkeypatch.setenv("TORCH_LOGS", logs)
    verdict = autoload._verdict(seen("1", asked=True, failed=failed), None, registered)
    assert verdict == ("at_import", "1", "enabled", outcome)


@pytest.mark.parametrize(
    ("launch", "present", "verdict"),
    [
        (None, None, ("at_dispatch", None, "enabled", "torch_not_imported")),
        ("0", "0", ("at_dispatch", "0", "disabled", "torch_not_imported")),
        ("0", "1", ("at_dispatch", NOT_SEEN, "unknown", "torch_not_imported")),
        (NOT_SEEN, "1", ("at_dispatch", NOT_SEEN, "unknown", "torch_not_imported")),
    ],
)
def test_a_process_without_torch_says_what_launch_and_present_agree_on(
    launch: str | NotSeen | None,
    present: str | None,
    verdict: tuple[object, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(autoload._known, "launch", launch)
    if present is not None:
        monkeypatch.setenv(VARIABLE, present)
    assert autoload._verdict(None, None, ()) == verdict


@pytest.mark.parametrize(
    ("torch", "late", "value", "registered", "modules", "verdict"),
    [
        (NEW_TORCH, True, "1", (), (), ("at_launch", "1", "enabled", "no_backend")),
        (NEW_TORCH, False, "1", (), (), ("at_launch", NOT_SEEN, "unknown", "unknown")),
        (NEW_TORCH, False, "1", (FIRST,), (FIRST.module,), ("at_launch", "1", "enabled", "loaded")),
        (NEW_TORCH, False, "1", (FIRST, SECOND), (FIRST.module,), ("at_launch", NOT_SEEN, "unknown", "unknown")),
        (NEW_TORCH, False, "0", (FIRST, SECOND), (), ("at_launch", "0", "disabled", "disabled")),
        (NEW_TORCH, False, "0", (FIRST, SECOND), (SECOND.module,), ("at_launch", NOT_SEEN, "unknown", "unknown")),
        (NEW_TORCH, True, "1", None, (), ("at_launch", NOT_SEEN, "unknown", "unknown")),
        (OLD_TORCH, True, "1", (), (), ("at_launch", "1", "unsupported", "disabled")),
        (OLD_TORCH, False, "1", (), (), ("at_launch", NOT_SEEN, "unknown", "unknown")),
        (None, True, "1", (), (), ("at_launch", NOT_SEEN, "unknown", "unknown")),
    ],
)
def test_a_torch_that_nobody_saw_being_imported(
    torch: dict[str, object] | None,
    late: bool,
    value: str,
    registered: tuple[EntryPoint, ...] | None,
    modules: tuple[str, ...],
    verdict: tuple[object, ...],
    loaded: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded("torch", *modules)
    monkeypatch.setattr(autoload._known, "came_late", late)
    monkeypatch.setattr(autoload._known, "launch", value)
    monkeypatch.setenv(VARIABLE, value)
    assert autoload._verdict(None, torch, registered) == verdict


@pytest.mark.parametrize(
    ("position", "registered", "modules", "failed"),
    [
        (None, None, (), None),
        (None, (FIRST,), (), FIRST),
        (None, (FIRST, SECOND), (), None),
        (0, (FIRST, SECOND), (), FIRST),
        (1, (FIRST, SECOND), (FIRST.module,), SECOND),
        # The second one was imported already, so it may have failed without a lookup.
        (0, (FIRST, SECOND), (FIRST.module, SECOND.module), None),
        (0, (FIRST, SECOND), (SECOND.module,), FIRST),
    ],
)
def test_the_failed_backend_is_named_only_when_certain(
    position: int | None,
    registered: tuple[EntryPoint, ...] | None,
    modules: tuple[str, ...],
    failed: EntryPoint | None,
    loaded: Callable[..., None],
) -> None:
    loaded(*modules)
    observed = seen("1", asked=True, failed=True)
    observed.position = position
    assert autoload._failed(observed, registered) is failed


def test_an_import_becomes_unsteady_when_the_variable_changes() -> None:
    observed = Import("1")
    observed.note("1")
    assert (observed.setting, observed.steady) == ("1", True)
    observed.note("0")
    observed.note("0")
    assert (observed.setting, observed.steady) == ("0", False)


@pytest.mark.parametrize(("state", "expected"), [("gone", (False, True)), ("complete", (False, False))])
def test_an_import_settles_when_torch_is_complete_or_gone(
    state: str, expected: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = ModuleType("torch")
    torch.__spec__ = ModuleSpec("torch", None)
    observed = Import("1")
    observed.module = ref(torch)
    monkeypatch.setitem(sys.modules, "torch", torch)
    observed.begin("1")
    importing: Any = torch.__spec__
    importing._initializing = True
    observed.settle()
    assert (observed.open, observed.failed) == (True, False)
    importing._initializing = False
    if state == "gone":
        monkeypatch.delitem(sys.modules, "torch")
    observed.settle()
    assert (observed.open, observed.failed) == expected
