"""The page on studies, the sets that they draw, and what a few of them say."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks" / "studies")]

import locks  # noqa: E402
import misses  # noqa: E402
import schedulability  # noqa: E402
from drawn_sets import draw_set  # noqa: E402

from rt_sched.lowering.machine_input import DeadlineAction  # noqa: E402

PAGE = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")


def test_the_page_shows_what_its_commands_draw() -> None:
    shown = set(re.findall(r"\(plots/(study-[\w-]+\.svg)\)", PAGE))
    assert shown == {path.name for path in (ROOT / "docs" / "plots").glob("study-*.svg")}
    for name in re.findall(r"python (benchmarks/studies/\w+\.py) --plots docs/plots", PAGE):
        assert (ROOT / name).is_file()


@given(seed=st.integers(0, 2**32), tasks=st.integers(1, 30), load=st.floats(0.1, 1.0), least=st.floats(0.3, 1.0))
def test_sets_have_the_load_and_the_deadlines_asked_for(seed: int, tasks: int, load: float, least: float) -> None:
    drawn = draw_set(np.random.default_rng(seed), tasks, load, deadlines=(least, 1.0))
    assert drawn.load == pytest.approx(load, abs=tasks * 1e-6)
    assert (np.diff(drawn.period_ns) >= 0).all()
    assert ((drawn.period_ns >= 9_990_000) & (drawn.period_ns <= 200_000_000)).all()
    assert ((drawn.wcet_ns >= 1) & (drawn.wcet_ns <= drawn.deadline_ns)).all()
    assert (drawn.deadline_ns <= drawn.period_ns).all()
    again = draw_set(np.random.default_rng(seed), tasks, load, deadlines=(least, 1.0))
    assert (again.wcet_ns == drawn.wcet_ns).all()


def test_tests_accept_as_their_theory_orders_them() -> None:
    found = schedulability.ratios(schedulability.ON_ONE, (0.6, 0.75, 0.9), 20, 3, tasks=6)
    weaker = ("Liu and Layland", "hyperbolic", "RTA, fixed pr.", "EDF")
    for load in (0.6, 0.75, 0.9):
        shares = [found[name][load] for name in weaker]
        assert shares == sorted(shares)
    assert found["EDF"][0.9] == 1


def test_edf_misses_nothing_up_to_a_full_core_and_much_beyond() -> None:
    below, above = (misses.miss_ratio("EDF", DeadlineAction.CONTINUE, load, 1, 1) for load in (0.95, 1.3))
    assert below == 0
    assert above > 0.5


def test_the_ceiling_lets_one_section_block_and_inheritance_two() -> None:
    assert locks.bounds_ms(4_000_000) == {"inheritance": 2 + 4 + 4, "ceiling": 2 + 4}
