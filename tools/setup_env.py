"""Makes the development environment. uv comes from PyPI into the cache, and installs the pins of constraints.txt.

Uses the standard library only, because nothing else is installed yet.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV_VERSION = "0.13.9"
EXTRAS = "torch,test,docs,export"


def uv(cache: Path) -> str:
    """Return the path of a pinned uv, installed into the cache on first use.

    Args:
        cache: the cache folder, outside the clone.
    """
    home = cache / f"uv-{UV_VERSION}-py{sys.version_info.major}{sys.version_info.minor}"
    program = home / "bin" / "uv"
    if not program.exists():
        venv.create(home, with_pip=True, clear=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, f"uv=={UV_VERSION}"], check=True)
    return str(program)


def main() -> None:
    """Create the environment. With --upgrade, write newer pins to constraints.txt instead."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venv", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--upgrade", action="store_true", help="resolve anew and write constraints.txt")
    arguments = parser.parse_args()
    program = uv(arguments.cache)
    environment = {**os.environ, "VIRTUAL_ENV": str(arguments.venv.resolve()), "UV_PYTHON_DOWNLOADS": "never"}

    def run(*command: str) -> None:
        subprocess.run([program, *command], check=True, cwd=ROOT, env=environment)

    if arguments.upgrade:
        resolve = ["pip", "compile", "--quiet", "--universal", "--python-version", "3.10", "--all-extras"]
        header = ["--no-annotate", "--custom-compile-command", "make constraints"]
        run(*resolve, *header, "--upgrade", "pyproject.toml", "--output-file", "constraints.txt")
        return
    run("venv", "--quiet", "--allow-existing", "--python", sys.executable, str(arguments.venv.resolve()))
    run("pip", "install", "--quiet", "--constraints", "constraints.txt", "--editable", f".[{EXTRAS}]")
    # Not in the environment: every `import torch` there would load the backend.
    demo_device = str(arguments.venv.resolve() / "demo-device")
    run("pip", "install", "--quiet", "--target", demo_device, "--upgrade", "./examples/device_backend")


if __name__ == "__main__":
    main()
