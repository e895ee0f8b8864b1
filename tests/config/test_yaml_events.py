"""libyaml and ruamel.yaml give the same tree, so that it does not matter which of them read a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from rt_sched.config import yaml_events
from rt_sched.config.problems import Problems
from rt_sched.config.yaml_events import Raw, compose

ROOT = Path(__file__).resolve().parents[2]
#: Trees that cannot be walked.
ENDLESS = ("alias_to_itself", "aliases_that_expand_hugely")
FOLDERS = (ROOT / "examples", ROOT / "tests" / "config_cases", Path(__file__).parent)
FILES = [path for folder in FOLDERS for path in sorted(folder.glob("*.yaml")) if path.stem not in ENDLESS]


def _tree(node: Raw | None) -> Any:
    """A node as plain data. The parsers place an absent value differently: its place is left out."""
    if node is None:
        return None
    place = None if node.kind == "scalar" and not node.value else (node.line, node.column)
    if node.kind == "scalar":
        return (node.tag, node.value, place)
    if node.kind == "sequence":
        return (node.tag, [_tree(item) for item in node.value], place)
    return (node.tag, [(_tree(key), _tree(value)) for key, value in node.value], place)


def _by_libyaml(text: str) -> Any:
    return _tree(yaml_events._compose(yaml.parse(text, Loader=yaml.CSafeLoader), Problems("")))


def _by_ruamel(text: str) -> Any:
    return _tree(yaml_events._compose(YAML(typ="safe", pure=True).parse(text), Problems("")))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_both_parsers_give_the_same_tree(path: Path) -> None:
    data = path.read_bytes()
    try:
        text = data.decode()
        expected = _by_ruamel(text)
    except (YAMLError, UnicodeError):
        assert compose(data.decode(errors="replace"), Problems("")) is None or not data.isascii()
        return
    assert _by_libyaml(text) == expected


KEYS = ["a", "b.c", "é", "f-g"]
VALUES = [
    "1", "0x1f", "1_0", ".5", "1e3", "-.inf", "~", "null", "true", "yes", "on", "2.5ms", "1:2", "'1'", "[1, a, {b: 2}]",
    "{x: y, z}", "!!str 3", "&k v", "<<", "=", "2001-01-01", "", "0o17", "08",
]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)), min_size=1, max_size=6))
def test_values_get_the_same_types(pairs: list[tuple[str, str]]) -> None:
    text = "".join(f"{key}{number}: {value}\n" for number, (key, value) in enumerate(pairs))
    assert _by_libyaml(text) == _by_ruamel(text)


@pytest.mark.parametrize("end", ["\r", "\x85", "\u2028"])
def test_lines_that_the_parsers_would_count_differently_are_numbered_by_one_of_them(end: str) -> None:
    root = compose(f"a: 1{end}\nb: 2\n", Problems(""))
    assert root is None or root.kind == "mapping"
    assert yaml_events._ODD_LINE_ENDS.search(f"a: 1{end}b")
