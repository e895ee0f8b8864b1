"""How the bounds of chains are explained: their steps add up, and the words say where the numbers come from."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from rt_sched.app.explain.job import explained_in_system
from rt_sched.app.explain.text import text_of
from rt_sched.errors import AnalysisNotApplicable

WHOLE = """\
rt_sched: 1
name: page
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
tasks:
  sense: {runs_on: ecu.cpu, activation: {period: 10ms}, execution: {wcet: 2ms}}
  think:
    {runs_on: ecu.cpu, activation: {period: 20ms}, execution: {wcet: 4ms},
     inputs: {x: {from: sense, required: false}}}
  act:
    {runs_on: ecu.cpu, activation: {period: 50ms}, execution: {wcet: 10ms},
     inputs: {x: {from: think, required: false}}}
  never:
    {runs_on: ecu.cpu, activation: {min_separation: 90ms}, execution: {wcet: 1ms},
     inputs: {x: {from: think, required: false}}}
chains:
  whole: {path: [sense, think, act], communication: implicit, max_reaction: 100ms}
  think: {path: [sense, think], max_data_age: 1ms}
  dead: {path: [sense, think, never]}
"""


def _explained(tmp_path: Path, name: str, text: str = WHOLE, mode: str | None = None):
    file = tmp_path / "system.yaml"
    file.write_text(text)
    return explained_in_system(name, str(file), None, mode)


def test_steps_add_up_to_the_bounds_of_the_analysis(tmp_path: Path) -> None:
    document = _explained(tmp_path, "whole")
    assert [part["looks"] for part in document["parts"]] == ["sense", "think", "act"]
    assert [part["gap_ns"] for part in document["parts"]] == [10_000_000, 20_000_000, 50_000_000]
    for one in document["quantities"].values():
        assert one["steps"][-1]["total_ns"] == one["bound_ns"] == sum(step["value_ns"] for step in one["steps"])
        assert one["bound_ns"] <= one["without_phases_ns"] <= one["plain_sum_ns"]
    # As the page on chains derives it: 10 + 20 + 50 - 2 of waits beside 18 of act.
    assert document["quantities"]["reaction"]["bound_ns"] == 78_000_000
    assert document["quantities"]["reaction"]["limit_ns"] == 100_000_000


@pytest.mark.parametrize("offsets", [(0, 0, 0), (7, 3, 41), (9, 19, 1)])
def test_the_instants_that_are_told_are_of_the_grids_and_give_the_waits(tmp_path: Path, offsets) -> None:
    text = WHOLE
    for period, offset in zip((10, 20, 50), offsets, strict=True):
        text = text.replace(f"period: {period}ms", f"period: {period}ms, offset: {offset}ms")
    document = _explained(tmp_path, "whole", text)
    seen = 0
    for one in document["quantities"].values():
        for read in one["reads"]:
            period_ns = 1_000_000_000 / read["rate_hz"]
            assert read["at_ns"] == read["first_ns"] + read["number"] * period_ns
        looks = {step["by"]: place for place, step in enumerate(one["steps"]) if step["kind"] == "sampling"}
        for earlier, later in pairwise(one["reads"]):
            between = one["steps"][looks.get(earlier["reader"], -1) + 1 : looks[later["reader"]] + 1]
            assert later["at_ns"] - earlier["at_ns"] == sum(step["value_ns"] for step in between)
            seen += 1
    assert seen >= 4


def test_the_text_tells_every_step_and_the_limit(tmp_path: Path) -> None:
    shown = text_of(_explained(tmp_path, "whole"))
    assert shown.startswith("whole, mode nominal: sense -> think -> act\n")
    assert "sense looks at most 10ms apart, at 0ns and every 10ms of the clock of ecu" in shown
    assert "2ms less than its responses: the next looks only when no job before it is pending" in shown
    assert "together 78ms <= limit 100ms" in shown
    assert "schedulable: all bounds are within their limits" in shown


def test_a_task_goes_before_a_chain_of_its_name(tmp_path: Path) -> None:
    assert _explained(tmp_path, "think")["task"] == "think"
    document = _explained(tmp_path, "chain:think")
    assert (document["chain"], document["verdict"]) == ("think", "inconclusive")
    assert "> limit 1ms" in text_of(document)


def test_a_chain_without_bounds_says_why(tmp_path: Path) -> None:
    document = _explained(tmp_path, "dead")
    assert document["parts"] == []
    assert {one["bound_ns"] for one in document["quantities"].values()} == {None}
    assert "it has no bound: task never has no largest separation" in text_of(document)


@pytest.mark.parametrize("name", ["chain:hole", "hole"])
def test_unknown_names_are_told_with_what_is_near(tmp_path: Path, name: str) -> None:
    with pytest.raises(AnalysisNotApplicable, match=r"unknown (task or )?chain 'hole'; did you mean 'whole'\?"):
        _explained(tmp_path, name)


def test_a_chain_of_another_mode_names_what_is_absent(tmp_path: Path) -> None:
    modes = WHOLE + "modes:\n  short: {without: [act]}\n  full: {tasks: [sense, think, act, never]}\n"
    with pytest.raises(AnalysisNotApplicable, match="chain whole does not exist in mode short, which lacks act"):
        _explained(tmp_path, "whole", modes)
    assert _explained(tmp_path, "whole", modes, "full")["mode"] == "full"
