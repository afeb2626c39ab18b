"""The facts of the harness's checkout and native build."""

from __future__ import annotations

import struct
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from opentelemetry.instrumentation.scenetest.harness.simpler import build

if TYPE_CHECKING:
    from pathlib import Path

ID = bytes(range(0xA0, 0xB4))
COMMIT = "0123456789abcdef0123456789abcdef01234567"
BUILD_ID_NOTE = struct.pack("<III", 4, len(ID), 3) + b"GNU\0" + ID
OTHER_NOTE = struct.pack("<III", 5, 3, 1) + b"Linux\0\0\0" + b"abc\0"


def elf(*segments: tuple[int, bytes], magic: bytes = b"\x7fELF\x02\x01") -> bytes:
    """An ELF64 file with these program segments, each a type and its content."""
    table, size = 64, 56
    header = magic.ljust(32, b"\0") + struct.pack("<Q", table)
    header = header.ljust(54, b"\0") + struct.pack("<HH", size, len(segments))
    offset, entries, contents = table + size * len(segments), b"", b""
    for kind, content in segments:
        entries += struct.pack("<IIQQQQQQ", kind, 4, offset + len(contents), 0, 0, len(content), len(content), 4)
        contents += content
    return header.ljust(table, b"\0") + entries + contents


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (elf((1, b"code"), (4, BUILD_ID_NOTE)), ID.hex()),
        (elf((4, OTHER_NOTE + BUILD_ID_NOTE)), ID.hex()),
        (elf((4, OTHER_NOTE), (4, BUILD_ID_NOTE)), ID.hex()),
        (elf((4, OTHER_NOTE)), "unknown"),
        (elf((1, BUILD_ID_NOTE)), "unknown"),
        (elf(), "unknown"),
        (elf((4, BUILD_ID_NOTE), magic=b"\x7fELF\x01\x01"), "unknown"),
        (elf((4, BUILD_ID_NOTE))[:80], "unknown"),
        (b"", "unknown"),
        (b"#!/bin/sh\n", "unknown"),
    ],
    ids=[
        "note",
        "after_another",
        "second_segment",
        "other_note",
        "no_note_segment",
        "no_segment",
        "32_bits",
        "cut",
        "empty",
        "script",
    ],
)
def test_the_build_id_of_an_elf_file(content: bytes, expected: str, tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_bytes(content)
    assert build.build_id(str(tmp_path / "lib.so")) == expected


def test_the_build_id_of_a_missing_file_is_unknown(tmp_path: Path) -> None:
    assert build.build_id(str(tmp_path / "missing.so")) == "unknown"


def git_folder(root: Path, head: str, **files: str) -> str:
    folder = root / ".git"
    folder.mkdir()
    (folder / "HEAD").write_text(head)
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("packed_refs", "packed-refs")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder)


def test_the_head_of_a_branch(tmp_path: Path) -> None:
    folder = git_folder(tmp_path, "ref: refs/heads/main\n", refs__heads__main=f"{COMMIT}\n")
    assert build._head(folder) == {"vcs.ref.head.revision": COMMIT, "vcs.ref.head.name": "main"}


def test_the_head_of_a_branch_whose_ref_is_packed(tmp_path: Path) -> None:
    packed = f"# pack-refs with: peeled\n{'f' * 40} refs/heads/mai\n{COMMIT} refs/heads/a/b\n^{'e' * 40}\n"
    folder = git_folder(tmp_path, "ref: refs/heads/a/b\n", packed_refs=packed)
    assert build._head(folder) == {"vcs.ref.head.revision": COMMIT, "vcs.ref.head.name": "a/b"}


def test_a_detached_head_has_no_branch(tmp_path: Path) -> None:
    assert build._head(git_folder(tmp_path, f"{COMMIT}\n")) == {"vcs.ref.head.revision": COMMIT}


def test_a_branch_without_a_commit_is_unknown(tmp_path: Path) -> None:
    folder = git_folder(tmp_path, "ref: refs/heads/new\n")
    assert build._head(folder) == {"vcs.ref.head.revision": "unknown", "vcs.ref.head.name": "new"}


def test_a_git_folder_without_a_head_is_unknown(tmp_path: Path) -> None:
    assert build._head(str(tmp_path / ".git")) == {"vcs.ref.head.revision": "unknown"}


@pytest.mark.parametrize("pointer", ["gitdir: {tree}", "gitdir: ../main/.git/worktrees/tree"])
def test_the_head_of_a_worktree_is_its_own(pointer: str, tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    git_folder(tmp_path / "main", "ref: refs/heads/main\n", refs__heads__side=f"{COMMIT}\n")
    tree = tmp_path / "main/.git/worktrees/tree"
    tree.mkdir(parents=True)
    (tree / "HEAD").write_text("ref: refs/heads/side\n")
    (tree / "commondir").write_text("../..\n")
    checkout = tmp_path / "tree"
    checkout.mkdir()
    (checkout / ".git").write_text(pointer.format(tree=tree) + "\n")
    assert build._head(str(checkout / ".git")) == {"vcs.ref.head.revision": COMMIT, "vcs.ref.head.name": "side"}


def test_the_checkout_is_the_nearest_parent_with_a_git_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "checkout/python/simpler_setup"
    package.mkdir(parents=True)
    (tmp_path / "checkout/.git").mkdir()
    (tmp_path / ".git").mkdir()
    module = ModuleType("simpler_setup")
    module.__file__ = str(package / "__init__.py")
    monkeypatch.setitem(sys.modules, "simpler_setup", module)
    assert build._checkout() == str(tmp_path / "checkout")
    module.__file__ = None
    assert build._checkout() == ""
