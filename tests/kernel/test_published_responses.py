"""Simulated worst responses equal the published worst-case response times, where these are exact."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from rt_sched.lowering.machine_input import MachineInput, Policy, ProcessorRow, TaskRow
from rt_sched.sim import Simulation

PUBLISHED = json.loads((Path(__file__).parent / "published_responses.json").read_text("utf-8"))


def worst_responses(case: dict[str, Any], policy: Policy, preemptive: bool, offsets: list[int]) -> list[int]:
    """Largest response of each task over four hyperperiods, times as nanoseconds."""
    tasks = tuple(
        TaskRow(
            f"t{i}",
            processor=0,
            deadline_ns=case["D"][i] or 10**6,
            demand_ns=case["C"][i],
            level=i,
            rate_hz=Fraction(10**9, case["T"][i]),
            offset_ns=offsets[i],
        )
        for i in range(len(case["C"]))
    )
    processor = ProcessorRow("cpu", policy, preemptive)
    simulation = Simulation(MachineInput((processor,), (), tasks, (), horizon_ns=4 * math.lcm(*case["T"])))
    simulation.run()
    jobs = simulation.trace().jobs
    done = jobs.finish_ns >= 0
    response = jobs.finish_ns - jobs.arrival_ns
    return [int(response[done & (jobs.task == i)].max()) for i in range(len(tasks))]


@pytest.mark.parametrize("case", PUBLISHED["fixed_priority_preemptive"], ids=lambda case: case["name"])
def test_synchronous_release_is_the_worst_case_under_preemptive_fixed_priority(case: dict[str, Any]) -> None:
    together = [0] * len(case["C"])
    assert worst_responses(case, Policy.FIXED_PRIORITY, True, together) == case["R"]


@pytest.mark.parametrize("case", PUBLISHED["fixed_priority_non_preemptive"], ids=lambda case: case["name"])
def test_without_preemption_the_worst_case_may_have_a_lower_task_just_started(case: dict[str, Any]) -> None:
    count = len(case["C"])
    together = [0] * count
    just_started = [[0 if task == blocking else 1 for task in range(count)] for blocking in range(count)]
    worst = [0] * count
    for offsets in (together, *just_started):
        for task, response in enumerate(worst_responses(case, Policy.FIXED_PRIORITY, False, offsets)):
            worst[task] = max(worst[task], response)
    assert worst == case["R"]


@pytest.mark.parametrize(("policy", "expected"), PUBLISHED["second_task_by_policy"]["R"].items())
def test_policies_differ_as_published(policy: str, expected: int) -> None:
    case = PUBLISHED["second_task_by_policy"]
    assert worst_responses(case, Policy[policy.upper()], policy != "fifo", [0, 0])[1] == expected
