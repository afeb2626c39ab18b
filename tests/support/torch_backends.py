"""Fake device backends as installed distributions: files and a dist-info folder.

Each backend writes what happens to it to the file `BACKEND_TRACE`. So a test can check it without our code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TRACE = """
import os
import time


def trace(event):
    with open(os.environ["BACKEND_TRACE"], "a", encoding="utf-8") as file:
        file.write(f"{time.monotonic_ns()} {event}\\n")
"""

LOADS = """
from backend_trace import trace

trace("{package} imported")


def _autoload():
    trace("{package} called")
"""

SLEEPS = """
import time

from backend_trace import trace

trace("{package} imported")
time.sleep(0.3)


def _autoload():
    trace("{package} called")
"""

RAISES = """
from backend_trace import trace

trace("{package} imported")
raise {error}
"""

RAISES_WHEN_CALLED = """
from backend_trace import trace

trace("{package} imported")


def _autoload():
    trace("{package} called")
    raise {error}
"""

ASKS = """
from importlib.metadata import entry_points

from backend_trace import trace

trace("{package} imported")
entry_points(group="torch.backends")


def _autoload():
    trace("{package} called")
    entry_points()
"""

# What every torch_npu does to the environment; up to 2.12.0 only torch, calling it, makes it put back what it found.
NPU = """
import os

found = os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1")
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

from backend_trace import trace

trace("torch_npu imported")

import torch

if "FAKE_NPU_WITHOUT_CANN" in os.environ:
    raise ImportError("libhccl.so: cannot open shared object file: No such file or directory")

from . import npu

__version__ = "{version}"


def _autoload():
    trace("torch_npu called")
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = found
"""

# Its module is imported and stays, and the call of its entry point fails: it names no function, or the function does.
NPU_WITHOUT_FUNCTION = NPU.partition("def _autoload")[0]
NPU_FAILS_WHEN_CALLED = (
    NPU
    + """
    try:
        raise OSError("libtorch_npu.so: undefined symbol: aclrtSetDevice")
    except OSError as error:
        raise ImportError("torch_npu can't be used") from error
"""
)

# From 2.13.0 on it does so itself when its import ends.
NPU_FROM_2_13 = (
    NPU
    + """

os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = found
"""
)

NPU_NPU = """
_initialized = False


def _lazy_init():
    global _initialized
    _initialized = True
"""


@dataclass(frozen=True)
class Backend:
    """One distribution with one package and one entry point.

    Attributes:
        source: the text of the package's `__init__.py`.
        entry: its line under `[torch.backends]`.
        error: what a failing one raises, in Python.
        more: further files of the package, by name.
    """

    distribution: str
    package: str
    source: str
    entry: str
    error: str = ""
    version: str = "1.0"
    more: tuple[tuple[str, str], ...] = ()

    def install(self, folder: Path) -> None:
        """Install it in a folder that is on the module path of the interpreters under test."""
        source = self.source.replace("{package}", self.package).replace("{error}", self.error)
        info = f"{self.distribution.replace('-', '_')}-{self.version}.dist-info"
        files = {
            "backend_trace.py": TRACE,
            f"{self.package}/__init__.py": source.replace("{version}", self.version),
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {self.distribution}\nVersion: {self.version}\n",
            f"{info}/entry_points.txt": f"[torch.backends]\n{self.entry}\n",
            **{f"{self.package}/{name}": text for name, text in self.more},
        }
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")


def _device(source: str, error: str = "", target: str = "fake_device:_autoload") -> Backend:
    return Backend("fake-device", "fake_device", source, f"fake_device = {target}", error)


def _npu(source: str, version: str) -> Backend:
    entry = "torch_npu = torch_npu:_autoload"
    return Backend("torch_npu", "torch_npu", source, entry, version=version, more=(("npu/__init__.py", NPU_NPU),))


BACKENDS = {
    "loads": _device(LOADS),
    "takes 0.3 s": _device(SLEEPS),
    "asks for entry points": _device(ASKS),
    "raises ImportError": _device(RAISES, "ImportError('libfake.so: cannot open shared object file')"),
    "raises RuntimeError": _device(RAISES, "RuntimeError('no device')"),
    "raises SystemExit": _device(RAISES, "SystemExit(3)"),
    "raises KeyboardInterrupt": _device(RAISES, "KeyboardInterrupt"),
    "raises when called": _device(RAISES_WHEN_CALLED, "RuntimeError('no device')"),
    "names a module": _device(LOADS, target="fake_device"),
    "names a missing attribute": _device(LOADS, target="fake_device:absent"),
    "names a missing module": _device(LOADS, target="fake_absent:_autoload"),
    "is named unlike its package": Backend("torch-fake", "torch_fake", LOADS, "autoload = torch_fake:_autoload"),
    "is not a device": Backend("fake-comms", "fake_comms", LOADS, "comms = fake_comms:_autoload"),
    "second, loads": Backend("fake-second", "fake_second", LOADS, "second = fake_second:_autoload"),
    "second, fails": Backend(
        "fake-second", "fake_second", RAISES, "second = fake_second:_autoload", "RuntimeError('no device')"
    ),
    "torch_npu 2.12.0": _npu(NPU, "2.12.0"),
    "torch_npu without its version": _npu(NPU.replace('__version__ = "{version}"', ""), "2.12.0"),
    "torch_npu without its function": _npu(NPU_WITHOUT_FUNCTION, "2.12.0"),
    "torch_npu with an undefined symbol": _npu(NPU_FAILS_WHEN_CALLED, "2.12.0"),
    "torch_npu 2.13.0": _npu(NPU_FROM_2_13, "2.13.0"),
}


def install_backends(names: list[str], folder: Path) -> None:
    """Install the named rows of `BACKENDS`."""
    for name in names:
        BACKENDS[name].install(folder)
