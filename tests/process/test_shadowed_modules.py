"""A program whose modules have names of the standard library: we never import them, and the program gets its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.scripts import clean_environment, only_run

# fmt: off
NAMES = [
    "array", "base64", "bisect", "calendar", "collections", "contextlib", "copy", "csv", "datetime", "email",
    "enum", "fnmatch", "functools", "glob", "hashlib", "inspect", "json", "keyword", "locale", "math",
    "operator", "pathlib", "queue", "random", "re", "reprlib", "selectors", "shlex", "shutil", "signal",
    "socket", "string", "struct", "subprocess", "tempfile", "textwrap", "types", "typing", "urllib", "uuid",
    "weakref", "zipfile",
]
# fmt: on
OWN = "import os\nopen(os.environ['RAN'], 'a').write(__name__ + ' ')\nOWN = True\n"
SCENE = """
import os, sys
{instrument}
from opentelemetry.instrumentation.scenetest import case, dispatch, phase
for _ in range(2):
    with case("S", "c", level=2):
        with phase("golden"): pass
        with dispatch(): pass
child = os.fork()
if child == 0:
    with case("S", "child"), dispatch(): pass
    os._exit(0)
os.waitpid(child, 0)
assert not os.path.exists(os.environ["RAN"]), open(os.environ["RAN"]).read()
for name in sys.argv[1:]:
    assert __import__(name).OWN, name
print("done")
"""
LIST_NEEDED = "import runpy, sys; print(*sys.modules)"
BY_ITSELF = "from opentelemetry.instrumentation.scenetest import instrument; instrument()"


def shadow(folder: Path, names: list[str], package: bool) -> None:
    for name in names:
        if package:
            (folder / name).mkdir()
        path = folder / name / "__init__.py" if package else folder / f"{name}.py"
        path.write_text(OWN)


@pytest.mark.parametrize("how", ["instrument()", "joined", "python -m"])
@pytest.mark.parametrize(
    ("names", "package"),
    [*(([name], False) for name in ("json", "random", "struct", "hashlib")), (NAMES, False), (NAMES, True)],
)
def test_modules_beside_the_script_are_the_scripts_own(
    names: list[str], package: bool, how: str, tmp_path: Path
) -> None:
    store, folder = tmp_path / "store", tmp_path / "program"
    folder.mkdir()
    # What Python itself, `site` and `-m` need, no program has in its own place.
    needed = subprocess.run([sys.executable, "-c", LIST_NEEDED], capture_output=True, text=True, check=True).stdout
    names = [name for name in names if name not in needed.split()]
    shadow(folder, names, package)
    (folder / "scene.py").write_text(SCENE.format(instrument=BY_ITSELF if how == "instrument()" else ""))
    run = tmp_path / "store" / "run"
    joined = {} if how == "instrument()" else {"SCENETEST_OTEL_RUN": str(run)}
    env = clean_environment(SCENETEST_OTEL_DIR=str(store), RAN=str(tmp_path / "ran"), **joined)
    script = ["-m", "scene"] if how == "python -m" else [str(folder / "scene.py")]
    done = subprocess.run(
        [sys.executable, *script, *names], env=env, cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    parent, child = sorted(only_run(store).processes, key=lambda process: -len(process.cases))
    assert [one.span.name for one in (*parent.cases, *child.cases)] == ["c", "c", "child"]
    assert parent.record.conditions["torch.backend_autoload.outcome"] == "torch_not_imported"
    assert "unknown" not in parent.record.conditions.values()


def test_without_shadows_what_we_import_stays_imported(tmp_path: Path) -> None:
    source = f"import sys\n{BY_ITSELF}\nassert 'json' in sys.modules and 're' in sys.modules"
    env = clean_environment(SCENETEST_OTEL_DIR=str(tmp_path))
    subprocess.run([sys.executable, "-c", source], env=env, cwd=tmp_path, check=True)


def test_nothing_stays_on_the_import_path(tmp_path: Path) -> None:
    source = f"import sys\nbefore = list(sys.meta_path)\n{BY_ITSELF}\nprint(len(sys.meta_path) - len(before))"
    env = clean_environment(SCENETEST_OTEL_DIR=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", source], env=env, capture_output=True, text=True, check=True)
    # The finders that watch torch and the harness stay.
    assert done.stdout == "2\n"
