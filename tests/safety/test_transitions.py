"""The table of transitions: complete, without overlap, right in every reachable state, and each of its cells needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from arbiter_exploration import Exploration, explore
from table_mutants import can_be, differs, mutants, situations

from safety.transitions import TABLE, Row, row_for, table_as_markdown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "safety.md"


def test_exactly_one_row_fits_every_situation() -> None:
    for state, facts in situations():
        assert len([row for row in TABLE if row.fits(state, facts)]) == 1, (state, facts)


@pytest.fixture(scope="module")
def exploration() -> Exploration:
    return explore()


def test_every_reachable_state_keeps_every_invariant(exploration: Exploration) -> None:
    assert exploration.violated == []
    assert exploration.states > 1000


def test_a_change_of_any_cell_violates_an_invariant(exploration: Exploration) -> None:
    wrong = [(name, table) for name, table in mutants() if differs(table)]
    survivors = [name for name, table in wrong if not any(step.complaints(table) for step in exploration.samples)]
    assert survivors == []
    assert len(wrong) > 100


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_every_row_applies_somewhere(row: Row) -> None:
    assert any(row_for(state, facts) is row for state, facts in situations() if can_be(state, facts))


def test_the_page_shows_the_table_as_it_is() -> None:
    assert table_as_markdown() in PAGE.read_text(encoding="utf-8")
