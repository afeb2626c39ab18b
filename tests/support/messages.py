"""Collects the error messages of the package from its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ANY = "\0"
"""Placeholder in a message for a value that is filled in."""

SPEAKERS = {
    "BadInputError": (0,),
    "Failure": (0,),
    "OptionError": (2,),
    "ExportError": (0, 1),
    "BadParameter": (0,),
    "UsageError": (0,),
    "Check": (2, 3),
    "fail": (0,),
    "failed": (0,),
    "say": (0,),
    "tell": (0,),
    "_tell": (0,),
    "swallow": (0,),
    "warn_once": (0,),
    "StackError": (0,),
}
"""Calls that print a message for the user, and which of their arguments hold its text."""


@dataclass(frozen=True)
class Message:
    """One message.

    Attributes:
        place: file and line.
        text: its text, with `ANY` for values that are filled in.
    """

    place: str
    text: str


def messages(source: Path) -> Iterator[Message]:
    """Yield all messages of the Python files below a folder."""
    for path in sorted(source.rglob("*.py")):
        yield from _Reader(path.relative_to(source)).of(ast.parse(path.read_text("utf-8")))


def strings(source: Path) -> set[str]:
    """Return all strings of the Python files below a folder, with `ANY` for values that are filled in."""
    trees = [ast.parse(path.read_text("utf-8")) for path in source.rglob("*.py")]
    return {
        text
        for tree in trees
        for names in [_assigned(tree)]
        for node in ast.walk(tree)
        if isinstance(node, (ast.Constant, ast.JoinedStr))
        for text in _texts(node, names)
    }


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, tree: ast.Module) -> Iterator[Message]:
        module = _assigned(tree)
        functions = [one for one in ast.walk(tree) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
        seen: set[int] = set()
        if self._path.parts[0] in _RETURN_SENTENCES:
            yield from self._returned(functions, module)
        if self._path.stem == "hints":
            yield from (Message(str(self._path), text) for one in module.values() for text in _texts(one[0], {}))
        for scope in (*reversed(functions), tree):
            names = {**module, **(_assigned(scope) if scope is not tree else {})}
            for node in ast.walk(scope):
                if isinstance(node, ast.Call) and id(node) not in seen:
                    seen.add(id(node))
                    yield from self._call(node, names)

    def _returned(
        self, functions: Sequence[ast.FunctionDef | ast.AsyncFunctionDef], module: dict[str, list[ast.expr]]
    ) -> Iterator[Message]:
        for function in functions:
            names = {**module, **_assigned(function)}
            for node in ast.walk(function):
                if isinstance(node, (ast.Return, ast.Yield)) and node.value is not None:
                    for text in dict.fromkeys(_texts(node.value, names)):
                        if len(text.replace(ANY, " ").split()) >= _SENTENCE:
                            yield Message(f"{self._path}:{node.lineno}", text)

    def _call(self, call: ast.Call, names: dict[str, list[ast.expr]]) -> Iterator[Message]:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name == "Check" and "ok" in _texts(call.args[1], names):
            return
        for place in SPEAKERS.get(name, ()):
            if place < len(call.args):
                for text in dict.fromkeys(_texts(call.args[place], names)):
                    spoken = f"could not {text}, the run goes on without it" if name == "swallow" else text
                    yield Message(f"{self._path}:{call.lineno}", spoken)


def _assigned(scope: ast.AST) -> dict[str, list[ast.expr]]:
    """Return the expressions that are assigned to each name in a scope."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for each, value in zip(target.elts, node.value.elts, strict=False):
                        if isinstance(each, ast.Name):
                            found.setdefault(each.id, []).append(value)
    return found


def _texts(node: ast.expr, names: dict[str, list[ast.expr]], depth: int = 0) -> list[str]:
    """Yield all texts that an expression can have."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else [ANY]
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body, names, depth), *_texts(node.orelse, names, depth)]
    if isinstance(node, ast.JoinedStr):
        found = [""]
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            texts = _texts(inner, names, depth + 1) if depth < _DEEP else [ANY]
            found = [begun + text for begun in found for text in texts][:_MOST]
        return found
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = (_texts(side, names, depth) for side in (node.left, node.right))
        return [a + b for a in left for b in right][:_MOST]
    if isinstance(node, ast.Name) and node.id in names and depth < _DEEP:
        return [text for value in names[node.id] for text in _texts(value, names, depth + 1)]
    return [ANY]


_RETURN_SENTENCES = ("cli", "deliver", "rundir", "runner", "sources")
"""Packages whose functions return parts of messages."""
_SENTENCE = 3
_DEEP = 4
_MOST = 20
