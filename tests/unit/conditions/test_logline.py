"""The log line and the spelling of the setting."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opentelemetry.instrumentation.scenetest.conditions.logline import log_line, parse_log_line, spell

SETTING = "torch.backend_autoload.setting"
VALUES = st.text(st.characters(codec=None), max_size=80)


def conditions(setting: str) -> dict[str, object]:
    return {
        SETTING: setting,
        "torch.backend_autoload.effective": "disabled",
        "torch.imported": True,
        "torch_npu.loaded": False,
    }


def test_the_line_of_the_harness_is_reproduced_to_the_letter() -> None:
    assert log_line(conditions("0")) == (
        'torch_backend_autoload setting=0 raw="0" raw_truncated=false effective=disabled'
        " torch_imported=true torch_npu_loaded=false"
    )


@pytest.mark.parametrize(
    ("value", "setting", "raw"),
    [
        (None, "unset", "null"),
        ("0", "0", '"0"'),
        ("1", "1", '"1"'),
        ("", "other", '""'),
        ("true", "other", '"true"'),
        ("unset", "other", '"unset"'),
        ('"1"', "other", r'"\"1\""'),
        ("1\n", "other", r'"1\n"'),
        ("\udcff", "other", r'"\udcff"'),
    ],
)
def test_a_value_has_its_class_and_its_raw_form(value: str | None, setting: str, raw: str) -> None:
    assert f" setting={setting} raw={raw} " in log_line(conditions(spell(value)))


def test_a_cut_value_says_so() -> None:
    line = log_line({**conditions(spell("1" * 65)), "torch.backend_autoload.setting_truncated": True})
    assert f'setting=other raw="{"1" * 64}" raw_truncated=true' in line


def test_a_setting_that_nobody_observed_is_null_under_other() -> None:
    assert "setting=other raw=null raw_truncated=false effective=unknown" in log_line({})


@pytest.mark.parametrize("word", ["unset", "unknown"])
def test_a_value_that_is_one_of_our_words_is_spelled_in_quotes(word: str) -> None:
    assert spell(word) == f'"{word}"'


@pytest.mark.parametrize("value", ["", " 1", "1 ", "TRUE", '"', '"1"', "a\\n", "x" * 64])
def test_printable_ascii_is_spelled_as_it_is(value: str) -> None:
    assert spell(value) == value


@given(VALUES)
def test_no_value_breaks_the_line(value: str) -> None:
    line = log_line(conditions(spell(value)))
    assert line.isascii()
    assert line.isprintable()
    fields = parse_log_line(f"[2026-11-30 12:00:00][INFO] {line}\n")
    assert fields == {
        "setting": value if value in ("0", "1") else "other",
        "raw": value[:64],
        "raw_truncated": False,
        "effective": "disabled",
        "torch_imported": True,
        "torch_npu_loaded": False,
    }


@given(VALUES, VALUES)
def test_two_values_are_never_spelled_the_same(one: str, other: str) -> None:
    assert (spell(one) == spell(other)) == (one[:64] == other[:64])


def test_the_old_form_without_raw_is_parsed() -> None:
    line = "torch_backend_autoload setting=invalid effective=disabled torch_imported=true torch_npu_loaded=true"
    assert parse_log_line(line) == {
        "setting": "invalid",
        "effective": "disabled",
        "torch_imported": True,
        "torch_npu_loaded": True,
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "torch_backend_autoload",
        "torch_backend_autoload setting=2 effective=enabled torch_imported=true torch_npu_loaded=true",
        log_line({}).replace("raw=null", r'raw="\x"'),
        "torch_backend_autoload setting=0 effective=enabled torch_imported=true torch_npu_loaded=truely",
    ],
)
def test_what_is_not_the_line_is_none(text: str) -> None:
    assert parse_log_line(text) is None


def test_a_raw_value_is_json() -> None:
    line = log_line(conditions(spell('say "1"\t')))
    assert json.loads(line.partition("raw=")[2].partition(" raw_truncated")[0]) == 'say "1"\t'
