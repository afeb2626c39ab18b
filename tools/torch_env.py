"""Makes an environment with one release of torch in the cache, and prints the path of its interpreter.

Autoload differs between releases of torch, so the autoload matrix also runs on older releases. Each release uses a
Python that its wheels support. Together they cover all versions of Python.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from setup_env import uv

PYTHONS = {
    "2.4": ("3.10", "3.11", "3.12"),
    "2.5": ("3.11", "3.12", "3.10"),
    "2.6": ("3.12", "3.11", "3.10"),
    "2.8": ("3.13", "3.12", "3.11"),
    "2.10": ("3.10", "3.11", "3.12"),
    "2.13": ("3.12", "3.13", "3.11"),
    "newest": ("3.13", "3.12", "3.11"),
}
"""The releases of the matrix, and the versions of Python for each; the first that is installed is taken."""

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scenetest-otel"


def find_python(versions: tuple[str, ...]) -> str:
    """Return an interpreter of the first version that is on PATH or beside the running one, as pyenv and uv put them.

    Raises:
        SystemExit: there is no such interpreter.
    """
    for version in versions:
        own = Path(sys.base_prefix)
        beside = [own, *sorted(own.parent.glob(f"*{version}.*"), reverse=True)]
        for candidate in (shutil.which(f"python{version}"), *(home / "bin" / f"python{version}" for home in beside)):
            if candidate and Path(candidate).exists() and _runs(candidate):
                return str(candidate)
    raise SystemExit(
        f"torch_env: no Python {' or '.join(versions)} on PATH or beside {sys.base_prefix}; install one of them"
    )


def _runs(python: str | Path) -> bool:
    # A pyenv shim is on PATH even if its version is not selected.
    return subprocess.run([python, "-c", ""], capture_output=True).returncode == 0


def make(release: str, more: list[str]) -> Path:
    """Return an interpreter with this release of torch. The first call installs it.

    Args:
        release: a key of `PYTHONS`.
        more: further requirements. They get an environment of their own.
    """
    home = CACHE / "torch" / "-".join([release, *more]).replace("==", "-")
    python = home / "bin" / "python"
    if not (home / ".ready").exists():
        cached = {"UV_CACHE_DIR": str(CACHE / "uv"), "UV_PYTHON_DOWNLOADS": "never"}

        def run(*command: str) -> None:
            subprocess.run([uv(CACHE), *command], check=True, env={**os.environ, **cached, "VIRTUAL_ENV": str(home)})

        run("venv", "--quiet", "--clear", "--python", find_python(PYTHONS[release]), str(home))
        torch = "torch" if release == "newest" else f"torch=={release}.*"
        run("pip", "install", "--quiet", torch, "numpy", "setuptools", *more)
        (home / ".ready").touch()
    return python


def main() -> None:
    """Make the environment and print the path of its interpreter."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", choices=list(PYTHONS))
    parser.add_argument("more", nargs="*", help="further requirements, as torch-npu==2.13.0")
    arguments = parser.parse_args()
    print(make(arguments.release, arguments.more))


if __name__ == "__main__":
    main()
