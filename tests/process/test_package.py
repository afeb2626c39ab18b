"""The published package: built as for a release, and installed into empty environments."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import setup_env

ROOT = Path(__file__).resolve().parents[2]
SUPPORTED = range(10, 15)
DISTRIBUTION = "opentelemetry-instrumentation-scenetest"

SCRIPT = """
from opentelemetry.instrumentation.scenetest import case, dispatch
with case("S", "c"), dispatch():
    pass
"""


def cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scenetest-otel"


def call(*command: str | Path, expect: int = 0, **env: str) -> str:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment |= {"UV_PYTHON_DOWNLOADS": "never", "UV_CACHE_DIR": str(cache() / "uv"), **env}
    done = subprocess.run(
        [str(word) for word in command], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def uv() -> str:
    return setup_env.uv(cache())


@pytest.fixture(scope="module")
def built(uv: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Wheel and sdist; the wheel is built from the sdist, as a release does it."""
    folder = tmp_path_factory.mktemp("dist")
    call(uv, "build", "--quiet", "--out-dir", folder, ROOT)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def pythons() -> dict[int, str]:
    """The supported Pythons of this machine, by their minor version."""
    found = {sys.version_info.minor: sys.executable}
    homes = [Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep)]
    homes += sorted(Path.home().glob(".pyenv/versions/*/bin"))
    for minor in SUPPORTED:
        for home in homes:
            python = home / f"python3.{minor}"
            if minor not in found and "shims" not in home.parts and os.access(python, os.X_OK):
                found[minor] = str(python)
    return found


def test_the_wheel_has_what_others_load_by_name(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        names = wheel.namelist()
        assert "scenetest_otel.pth" in names
        assert "opentelemetry/instrumentation/scenetest/py.typed" in names
        assert "opentelemetry/__init__.py" not in names
        assert "opentelemetry/instrumentation/__init__.py" not in names
        (declared,) = [name for name in names if name.endswith("entry_points.txt")]
        groups = re.findall(r"^\[(.*)\]$", wheel.read(declared).decode(), re.MULTILINE)
        assert set(groups) == {
            "console_scripts",
            "opentelemetry_instrumentor",
            "opentelemetry_resource_detector",
            "pytest11",
        }
        foreign = [name for name in names if not name.startswith(("opentelemetry/", "opentelemetry_instrumentation_"))]
        assert foreign == ["scenetest_otel.pth"]


def test_the_sdist_has_what_make_test_needs(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"Makefile", "constraints.txt", "mkdocs.yml", "tests/conftest.py", "tools/setup_env.py", "LICENSE"} <= names


def test_twine_finds_nothing_wrong(built: tuple[Path, Path]) -> None:
    said = call(sys.executable, "-m", "twine", "check", "--strict", *built)
    assert said.count("PASSED") == 2


@pytest.mark.parametrize(
    ("minor", "resolution"), [(min(pythons()), "lowest-direct"), (max(pythons()), "highest")], ids=["oldest", "newest"]
)
def test_it_works_in_an_empty_environment_and_leaves_nothing_behind(
    uv: str, built: tuple[Path, Path], tmp_path: Path, minor: int, resolution: str
) -> None:
    home = tmp_path / "environment"
    call(uv, "venv", "--quiet", "--python", pythons()[minor], home)
    python = home / "bin" / "python"
    install = (uv, "pip", "install", "--quiet", "--python", python)
    # What a measured environment with torch_npu pins: numpy 1.
    pins = ("numpy<2", "pytest") if resolution == "lowest-direct" and minor < 13 else ("pytest",)
    call(*install, *pins)
    before = files(home)
    call(*install, "--resolution", resolution, built[0])
    assert "All installed packages are compatible" in call(uv, "pip", "check", "--python", python)

    store = tmp_path / "store"
    program = home / "bin" / "scenetest-otel"
    call(program, "run", "--dir", store, "--require-record", "--name", "one", "--", python, "-c", SCRIPT)
    assert "CLEAN" in call(program, "show", "--dir", store, "one", "--require", "clean")
    assert "joins a run" in call(program, "doctor", "--", python)
    (tmp_path / "test_one.py").write_text(f"def test_one():\n    exec({SCRIPT!r})\n")
    call(python, "-m", "pytest", tmp_path / "test_one.py", SCENETEST_OTEL_DIR=str(store))
    assert call(program, "runs", "--dir", store, "--json").count('"CLEAN"') == 2

    installed = files(home)
    call(uv, "pip", "uninstall", "--quiet", "--python", python, DISTRIBUTION)
    ours = {name for name in installed - before if "scenetest" in name}
    assert ours
    assert {name for name in files(home) if "scenetest" in name} == set()


def files(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file() and path.suffix != ".pyc"}
