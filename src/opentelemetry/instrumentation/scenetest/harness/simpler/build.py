"""Facts about the harness that the process has loaded: its checkout and its native libraries."""

from __future__ import annotations

import os
import struct
import sys

from opentelemetry.instrumentation.scenetest.conditions.files import read
from opentelemetry.instrumentation.scenetest.conditions.values import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.instrumentation.scenetest.conditions.values import Value

_LIBRARIES = ("_task_interface", "libhost_runtime", "libcpu_sim_context")
_ELF64_LITTLE = b"\x7fELF\x02\x01"
_PT_NOTE = 4
_NT_GNU_BUILD_ID = 3


def facts() -> dict[str, Value]:
    """Return the conditions that tell which harness this is."""
    found: dict[str, Value] = {}
    libraries = {f"{os.path.basename(path).partition('.')[0]}={build_id(path)}" for path in _mapped_libraries()}
    if libraries:
        found["scenetest.native.build_ids"] = ",".join(sorted(libraries))
    if checkout := _checkout():
        found["scenetest.harness.path"] = checkout
        found.update(_head(os.path.join(checkout, ".git")))
    return found


def build_id(path: str) -> str:
    """Return the GNU build id of an ELF file in hexadecimal, or `unknown` if it has none or can't be read.

    elf(5) describes the layout: the note NT_GNU_BUILD_ID with the name GNU, in a program header of type PT_NOTE.
    """
    try:
        with open(path, "rb") as file:
            header = file.read(64)
            if header[:6] != _ELF64_LITTLE:
                return UNKNOWN
            (table,) = struct.unpack_from("<Q", header, 32)
            size, entries = struct.unpack_from("<HH", header, 54)
            for entry in range(entries):
                file.seek(table + entry * size)
                kind, _, offset, _, _, length = struct.unpack("<IIQQQQ", file.read(40))
                if kind == _PT_NOTE:
                    file.seek(offset)
                    if found := _build_id_note(file.read(length)):
                        return found
    except (OSError, struct.error):
        pass
    return UNKNOWN


def _build_id_note(notes: bytes) -> str:
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        content = at + 12 + _aligned(name_size)
        if kind == _NT_GNU_BUILD_ID and notes[at + 12 : at + 16] == b"GNU\0":
            return notes[content : content + size].hex()
        at = content + _aligned(size)
    return ""


def _aligned(size: int) -> int:
    return (size + 3) & ~3


def _mapped_libraries() -> set[str]:
    paths = {line.split(None, 5)[5] for line in read("/proc/self/maps").splitlines() if ".so" in line}
    return {path for path in paths if os.path.basename(path).startswith(_LIBRARIES)}


def _checkout() -> str:
    source = getattr(sys.modules.get("simpler_setup") or sys.modules["simpler.worker"], "__file__", None)
    folder = os.path.dirname(os.path.realpath(source)) if source else ""
    while folder and folder != os.path.dirname(folder):
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        folder = os.path.dirname(folder)
    return ""


def _head(git: str) -> dict[str, Value]:
    # gitrepository-layout(5): in a worktree, .git is a file that names the folder. Refs may be packed.
    pointer = read(git)
    if pointer.startswith("gitdir: "):
        git = os.path.join(os.path.dirname(git), pointer.removeprefix("gitdir: "))
    common = os.path.join(git, read(os.path.join(git, "commondir")) or ".")
    head = read(os.path.join(git, "HEAD"))
    if not head.startswith("ref: "):
        return {"vcs.ref.head.revision": head or UNKNOWN}
    name = head.removeprefix("ref: ")
    packed = (line.split(" ") for line in read(os.path.join(common, "packed-refs")).splitlines())
    revision = read(os.path.join(common, name)) or next((line[0] for line in packed if line[1:] == [name]), UNKNOWN)
    return {"vcs.ref.head.revision": revision, "vcs.ref.head.name": name.removeprefix("refs/heads/")}
