"""Secrets in command lines: masked before anything is recorded, and again in whatever is read.

What is not recorded can't leak. A form that is not known here gets through: `SCENETEST_OTEL_COMMAND_LINE=off` records
the name of the program only.
"""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VARIABLE = "SCENETEST_OTEL_COMMAND_LINE"
"""The environment variable that switches off the recording of command lines, by `off`."""

MASK = "****"

_NAMES = (
    r"pass(?!ed|ing|es\b|ive)|pwd|secret|token|credential|auth(?!ors?\b)|cookie|signature"
    r"|api[-_]?key|access[-_]?key|private[-_]?key|session[-_]?(?:id|key)"
)
_OPTION = re.compile(rf"--?[\w.-]*(?:{_NAMES})[\w.-]*", re.IGNORECASE).fullmatch
_LONG_OPTION = re.compile(r"--[A-Za-z]").match
_USER = frozenset({"-u", "--user", "--proxy-user"})

_IN_A_WORD = (
    # https://user:password@host, https://token@host
    (re.compile(r"(\w://)[^/@\s]+@"), rf"\g<1>{MASK}@"),
    # password=x, --header=Authorization:x, "api_key": "x", X-Api-Key: x; but not test_auth.py::test_x
    (
        re.compile(rf"(?i)([\w.-]*(?:{_NAMES})[\w.-]*[\"']?\s*(?:=|:(?![:/])))(?!{re.escape(MASK)}$)(?s:.+)"),
        rf"\1{MASK}",
    ),
    # curl --password x, within the one word of a shell's command
    (re.compile(rf"(?i)(--?[\w-]*(?:{_NAMES})[\w-]*\s+)\S+"), rf"\1{MASK}"),
    (re.compile(r"(?i)\b(bearer|basic)\s+\S+"), rf"\1 {MASK}"),
    # Tokens that are known by their form: GitHub, GitLab, Slack, AWS, OpenAI and the like, JSON Web Tokens.
    (re.compile(r"\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{8,})"), MASK),
    (re.compile(r"\b(?:AKIA[0-9A-Z]{16}|sk-[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*)"), MASK),
)


def recorded(command: Sequence[str], environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return what of a command line is recorded: without its secrets, or its program alone if the user says so."""
    if environment.get(VARIABLE, "").strip().lower() == "off":
        return list(command[:1])
    return masked(command)


def masked(command: Sequence[str]) -> list[str]:
    """Return a command line with its secrets masked. To mask twice changes nothing."""
    words: list[str] = []
    hide_next = has_user = False
    for word in command:
        if hide_next and not _LONG_OPTION(word):
            words.append(MASK)
        elif has_user and ":" in word:
            words.append(f"{word.partition(':')[0]}:{MASK}")
        else:
            words.append(_masked_word(word))
        hide_next = words[-1] is not MASK and _OPTION(word) is not None
        has_user = word in _USER
    return words


def _masked_word(word: str) -> str:
    for pattern, replacement in _IN_A_WORD:
        word = pattern.sub(replacement, word)
    return word
