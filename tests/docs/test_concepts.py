"""The examples on the concept pages load, and their tables are what the simulation gives."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "scripts"))

from pages import PAGES, Example, cell, chain_cell, examples, run, system_texts, task_cell

ALL_PAGES = sorted(page for page in PAGES.glob("*.md") if page.stem != "README")
ALL_EXAMPLES = [example for page in ALL_PAGES for example in examples(page)]


@pytest.mark.parametrize("example", ALL_EXAMPLES, ids=lambda e: f"{e.page}:{e.line}")
def test_the_table_is_what_the_simulation_gives(example: Example) -> None:
    system, trace = run(example)
    actual = {"job": cell, "chain": chain_cell, "task": task_cell}[example.columns[0]]
    assert example.rows
    for row in example.rows:
        said = dict(zip(example.columns[1:], row[1:], strict=True))
        assert said == {column: actual(system, trace, row[0], column) for column in said}, row[0]


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.stem)
def test_every_page_has_a_short_example_with_its_result(page: Path) -> None:
    texts = system_texts(page)
    assert texts
    assert min(len(text.splitlines()) for text in texts) <= 14
    assert len(examples(page)) >= 1


def test_the_index_lists_every_page() -> None:
    linked = set(re.findall(r"\]\((\S+?)\.md\)", (PAGES / "README.md").read_text()))
    assert linked == {page.stem for page in ALL_PAGES} | {"../configuration"}
