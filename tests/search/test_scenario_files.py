"""Scenario files: what is written is read back and runs to the same record; what no legal run has is refused."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from searched import searched, traced
from test_legal_runs import ALL_KINDS, tried

from rt_sched.app.inputs.scenario_files import scenario_for, signed, write_scenario
from rt_sched.config.scenario_text import scenario_text
from rt_sched.errors import ConfigError
from rt_sched.lowering.scenarios import lower_scenario
from rt_sched.model import Scenario, Shown
from rt_sched.search.candidates import scenario_of

SYSTEM = searched(ALL_KINDS)
HEAD = f"rt_sched_scenario: 1\nsystem: {SYSTEM.space.system.name}\nduration: 1ms\n"


def test_a_scenario_is_read_as_it_was_written_and_runs_as_it_was_found(tmp_path: Path) -> None:
    space = SYSTEM.space
    for candidate, trace in tried(SYSTEM, np.random.default_rng(11), 3):
        scenario = signed(scenario_of(space, candidate, trace, space.horizon_ns), space.system, space.plan)
        scenario = replace(scenario, shown=Shown("act", "data_age", 12_345))
        write_scenario(scenario, tmp_path / "s.yaml")
        read, notes = scenario_for(space.system, space.plan, tmp_path / "s.yaml")
        assert (read, notes) == (scenario, [])
        again = traced(lower_scenario(space.system, space.plan, read))
        for table in ("jobs", "slices", "samples", "events"):
            for column in fields(getattr(trace, table)):
                mine, other = (getattr(getattr(one, table), column.name) for one in (trace, again))
                assert np.array_equal(mine, other), (table, column.name)


def test_usual_choices_are_left_out() -> None:
    candidate, trace = tried(SYSTEM, np.random.default_rng(0), 1)[0]
    text = scenario_text(scenario_of(SYSTEM.space, candidate, trace, SYSTEM.space.horizon_ns))
    assert "jitter: 0ns" not in text
    assert text.startswith("# Found by rt-sched search.")


def problems(tmp_path: Path, text: str, head: str = HEAD) -> list[str]:
    path = tmp_path / "s.yaml"
    path.write_text(head + text)
    with pytest.raises(ConfigError) as caught:
        scenario_for(SYSTEM.space.system, SYSTEM.space.plan, path)
    return [str(problem).removeprefix(f"{path}:") for problem in caught.value.problems]


WRONG = {
    "an early arrival": (
        "tasks:\n  call:\n    - {arrival: 0ns}\n    - {arrival: 149us}\n",
        "7:17  tasks.call[1].arrival: 149us after the one before, the least separation is 150us",
    ),
    "a late arrival": (
        "tasks:\n  log:\n    - {arrival: 0ns}\n    - {arrival: 601us}\n",
        "7:17  tasks.log[1].arrival: 601us after the one before, the largest separation is 600us",
    ),
    "no arrival": (
        "tasks:\n  call: [{}]\n",
        "5:10  tasks.call[0]: call is sporadic, so each of its jobs needs an arrival",
    ),
    "an arrival that a clock gives": (
        "tasks: {decide: [{arrival: 1us}]}\n",
        "4:28  tasks.decide[0].arrival: decide is not sporadic: its clock or its messages say when it arrives",
    ),
    "jitter": (
        "tasks: {decide: [{jitter: 6us}]}\n",
        "4:27  tasks.decide[0].jitter: 6us is outside of what the system declares for release jitter: 0ns to 5us",
    ),
    "demand": (
        "tasks: {see: [{}, {demand: 10us}]}\n",
        "4:28  tasks.see[1].demand: 10us is outside of what the system declares for execution: 4us to 9us",
    ),
    "how many suspensions": (
        "tasks: {call: [{arrival: 0ns, suspensions: [1us, 2us]}]}\n",
        "4:44  tasks.call[0].suspensions: 2 lengths for 1 suspensions",
    ),
    "a long suspension": (
        "tasks: {call: [{arrival: 0ns, suspensions: [5us]}]}\n",
        "4:44  tasks.call[0].suspensions: 5us is outside of what the system declares for the suspension: 1us to 4us",
    ),
    "a clock": (
        "clocks: {ecu: -3us}\n",
        "4:10  clocks.ecu: -3us is outside of what the system declares for the error of the clock: -2us to 2us",
    ),
    "a late sample": (
        "samples: {left: [{capture: 0ns, arrival: 7us}]}\n",
        "4:18  samples.left[0]: 7us is outside of what the system declares for latency and jitter: 2us to 6us",
    ),
    "a sample that is missing": (
        "samples: {right: [{capture: 1us, arrival: 5us}, {capture: 201us, arrival: 205us}]}\n",
        "4:49  samples.right[1]: captured too early or too late for its rate beside the others",
    ),
    "samples of one trigger": (
        "samples:\n  left: [{capture: 1us, arrival: 5us}]\n  right: [{capture: 2us, arrival: 6us}]\n",
        "6:11  samples.right[0]: captured too early or too late for its rate beside the others",
    ),
    "an unknown task": (
        "tasks: {cal: []}\n",
        "4:9  tasks.cal: unknown task 'cal'; did you mean 'call'? valid: turn, see, infer, look, decide, call, log",
    ),
    "a negative time": ("tasks: {see: [{demand: -1us}]}\n", "4:24  tasks.see[0].demand: '-1us' must not be negative"),
    "a part of a nanosecond": (
        "tasks: {see: [{demand: 5000.5ns}]}\n",
        "4:24  tasks.see[0].demand: '5000.5ns' is no number of whole nanoseconds",
    ),
    "what it shows": (
        "shows: {target: calls, quantity: response, value: 1ms}\n",
        "4:17  shows.target: unknown task or chain 'calls'; did you mean 'call'? "
        "valid: turn, see, infer, look, decide, call, log, act, turned",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_the_system_does_not_allow_is_refused_at_its_place(tmp_path: Path, what: str) -> None:
    text, expected = WRONG[what]
    assert problems(tmp_path, text) == [expected]


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    text = "".join(("tasks:\n  decide: [{jitter: 9us}]\n  see: [{demand: 99us}]\n", "clocks: {ecu: 9us}\n"))
    assert len(problems(tmp_path, text)) == 3
    assert problems(tmp_path, "", head="rt_sched_scenario: 2\nsystem: other\n") == [
        "1:1  a scenario file needs the key 'duration', such as duration: 250ms",
        "1:20  rt_sched_scenario: this program reads version 1 of scenario files, not '2'",
        "2:9  system: the scenario is one of system other, not of searched",
    ]
    missing = tmp_path / "none.yaml"
    with pytest.raises(ConfigError, match="the scenario file cannot be read: No such file"):
        scenario_for(SYSTEM.space.system, SYSTEM.space.plan, missing)


def test_notes_tell_of_another_state_of_the_system_and_of_another_plan(tmp_path: Path) -> None:
    space = SYSTEM.space
    given = signed(Scenario(space.system.name, 1000), space.system, space.plan)
    for changed, words in (
        (replace(given, system_sha256="0"), "found with another state of searched"),
        (replace(given, plan_sha256="0"), "found under another plan"),
    ):
        write_scenario(changed, tmp_path / "s.yaml")
        (note,) = scenario_for(space.system, space.plan, tmp_path / "s.yaml")[1]
        assert words in note
