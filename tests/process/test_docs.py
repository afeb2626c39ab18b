"""The documentation matches the code: tables, examples, names, links."""

from __future__ import annotations

import ast
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import click
import pytest
from support import runner
from support.scripts import only_run

from opentelemetry.instrumentation import scenetest
from opentelemetry.instrumentation.scenetest.analyse.runs import Run
from opentelemetry.instrumentation.scenetest.cli import COMMANDS
from opentelemetry.instrumentation.scenetest.cli import main as program
from opentelemetry.instrumentation.scenetest.render import otlp_file, run_json
from opentelemetry.instrumentation.scenetest.rundir import reader

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
SOURCE = ROOT / "src"
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])

# A group of entry points, a module of the harness, and what a comparison looks for and nothing here sets.
NOT_ATTRIBUTES = {"torch.backends", "torch.utils.benchmark.utils.timer", "simpler.worker"}
ATTRIBUTE = re.compile(
    r"(scenetest|simpler|torch|torch_npu|test|process|service|telemetry|vcs|host|error|thread|code)(\.[a-z][a-z0-9_]*)+"
)
VARIABLE = re.compile(r"((OTEL|SCENETEST|SIMPLER|PTO2|ASCEND|TORCH|XDG)_[A-Z0-9_]+|TRACEPARENT|TRACESTATE)")

SCRIPT = """
    with case("Suite", "name", level=2, platform="a2a3sim", runtime="host_build_graph", rounds=1):
        with phase("args"): pass
        with dispatch(): pass
        try:
            with dispatch(): raise ValueError
        except ValueError: pass
    with dispatch(callable="add"): pass
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    store = tmp_path_factory.mktemp("store")
    runner.run(store, runner.recording(SCRIPT))
    return only_run(store)


def words_of_source() -> Iterator[str]:
    """Every string constant of the package but its docstrings."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                yield node.value


def names_on(page: str) -> set[str]:
    prose = re.sub(r"```.*?```", "", (REFERENCE / page).read_text("utf-8"), flags=re.DOTALL)
    return set(re.findall(r"`([^`]+)`", prose))


def json_blocks_on(page: str) -> list[str]:
    return re.findall(r"```json\n(.*?)```", (REFERENCE / page).read_text("utf-8"), re.DOTALL)


def key_paths(value: object, path: str = "") -> Iterator[str]:
    """Every key of a JSON value with the keys above it; what a `conditions` or `attributes` holds is data."""
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from key_paths(item, path)
    elif isinstance(value, dict) and not path.endswith(("conditions", "attributes")):
        for key, item in cast("dict[str, object]", value).items():
            yield f"{path}.{key}"
            yield from key_paths(item, f"{path}.{key}")


def test_every_table_says_what_the_code_does() -> None:
    command = [sys.executable, str(ROOT / "tools" / "render_docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_site_builds_without_a_warning_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md"])
def test_every_link_of_the_pages_outside_the_site_leads_to_a_file(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / page).read_text("utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_public_name_is_in_the_python_reference_by_its_docstring() -> None:
    names = set(scenetest.__all__) - {"__version__"}
    shown = re.findall(r"^::: opentelemetry\.instrumentation\.scenetest\.(\w+)$", _text_of("python.md"), re.MULTILINE)
    assert sorted(shown) == sorted(names)


def _text_of(page: str) -> str:
    return (REFERENCE / page).read_text("utf-8")


def test_every_attribute_that_the_source_names_is_in_the_reference() -> None:
    named = {word for word in words_of_source() if ATTRIBUTE.fullmatch(word)}
    assert named - NOT_ATTRIBUTES - names_on("attributes.md") == set()


def test_every_attribute_of_an_exported_run_is_in_the_reference(run: Run) -> None:
    stream = io.StringIO()
    otlp_file.write(run.path, run.facts, stream)
    keys: set[str] = set()
    for line in stream.getvalue().splitlines():
        for of_resource in cast("dict[str, Any]", json.loads(line))["resourceSpans"]:
            keys.update(one["key"] for one in of_resource["resource"]["attributes"])
            for of_scope in of_resource["scopeSpans"]:
                keys.update(one["key"] for span in of_scope["spans"] for one in span.get("attributes", ()))
    assert keys - names_on("attributes.md") == set()


def test_every_environment_variable_that_the_source_names_is_in_the_reference() -> None:
    named = {word for word in words_of_source() if VARIABLE.fullmatch(word)}
    assert named - names_on("environment.md") == set()


def test_the_journal_of_the_reference_is_one(tmp_path: Path) -> None:
    (text,) = json_blocks_on("journal.md")
    (tmp_path / "4711-0.jsonl").write_text(text)
    record = reader.Journal(tmp_path / "4711-0.jsonl")
    assert [(span.kind, span.outcome) for span in record.spans()] == [
        ("phase", "pass"),
        ("dispatch", "error"),
        ("case", "pass"),
    ]
    assert (record.process.ended, record.process.torn_lines) == ("clean", 0)


def test_every_command_line_in_the_pages_is_one_that_the_program_takes() -> None:
    shown = re.compile(r"^(?: {4}|\$ )+(?:\w+=\S+ )*(scenetest-otel|make) ([^|\n]+)", re.MULTILINE)
    wrong: list[str] = []
    for page in PAGES:
        for name, rest in shown.findall(page.read_text("utf-8").replace("\\\n", " ")):
            words = shlex.split(rest, comments=True)
            if not (_is_target(words) if name == "make" else _is_taken(words)):
                wrong.append(f"{page.name}: {name} {rest}")
    assert wrong == []


def _is_target(words: list[str]) -> bool:
    return all(re.search(rf"^{word}:", (ROOT / "Makefile").read_text(), re.MULTILINE) for word in words)


def _is_taken(words: list[str]) -> bool:
    """Whether there is a command of this name that has these options."""
    context = click.Context(program)
    command = program.get_command(context, words[0])
    if command is None:
        return False
    try:
        command.make_parser(click.Context(command, context)).parse_args(words[1:])
    except click.UsageError:
        return words == ["--help"]
    return True


def test_every_command_has_a_section_in_the_reference() -> None:
    sections = re.findall(r"^## (.*)$", (REFERENCE / "cli.md").read_text("utf-8"), re.MULTILINE)
    assert [command for command in COMMANDS if command not in sections] == []


def test_every_field_that_a_journal_has_is_in_the_reference(run: Run) -> None:
    fields = set(run.facts)
    for path in run.path.glob("*.jsonl"):
        fields.update(key for line in path.read_text().splitlines() for key in cast("dict[str, Any]", json.loads(line)))
    assert fields - names_on("journal.md") - {"kind"} == set()


def test_the_object_of_the_reference_has_the_keys_of_a_real_one(run: Run) -> None:
    (text,) = json_blocks_on("json.md")
    assert set(key_paths(json.loads(text))) == set(key_paths(run_json.document(run)))
