"""Published responses, also scaled by a prime, with padding columns and rows, and among further tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rt_sched.analysis.batch import Status, edf_response_times, edf_schedulable, fp_response_times, warm_up
from rt_sched.analysis.theory.fifo import fifo_response_times
from rt_sched.analysis.theory.fixed_points import Timing
from rt_sched.analysis.theory.mixed_criticality import DualTiming, amc_max, amc_rtb, static_mixed_criticality
from rt_sched.analysis.theory.slices import supply_of_slices
from rt_sched.analysis.theory.suspension import suspending_response_times, suspension_as_blocking
from rt_sched.analysis.theory.utilisation import hyperbolic, liu_layland
from rt_sched.kernels.rta import edf_demand, edf_response, fixed_priority

PRIME = 7919
PUBLISHED = json.loads((Path(__file__).parent / "../kernel/published_responses.json").read_text("utf-8"))
PREEMPTIVE = PUBLISHED["fixed_priority_preemptive"]
CAN = PUBLISHED["fixed_priority_non_preemptive"][0]


@pytest.mark.parametrize("scale", [1, PRIME, 10**6])
@pytest.mark.parametrize("case", PREEMPTIVE, ids=lambda case: case["name"])
def test_preemptive_fixed_priority(case: dict[str, Any], scale: int) -> None:
    result = fp_response_times(np.array(case["C"]) * scale, np.array(case["T"]) * scale)
    assert result.response_ns[0].tolist() == [response * scale for response in case["R"]]


@pytest.mark.parametrize("scale", [10, 10 * PRIME])
def test_can_bus(scale: int) -> None:
    wcet, period = np.array(CAN["C"]) * scale, np.array(CAN["T"]) * scale
    exact = fp_response_times(wcet, period, preemptive=False).response_ns[0].tolist()
    classic = fp_response_times(wcet, period, preemptive=False, classic=True).response_ns[0].tolist()
    assert classic == [20 * scale, 30 * scale, 35 * scale]
    assert exact == [20 * scale - 1, 30 * scale - 1, 35 * scale]


def test_can_bus_in_ticks() -> None:
    assert fp_response_times(CAN["C"], CAN["T"], preemptive=False).response_ns[0].tolist() == CAN["R"]


@pytest.mark.parametrize("scale", [1, PRIME])
def test_two_tasks_by_policy(scale: int) -> None:
    case = PUBLISHED["second_task_by_policy"]
    wcet, period, deadline = (np.array(case[key]) * scale for key in "CTD")
    wanted = {policy: response * scale for policy, response in case["R"].items()}
    assert fp_response_times(wcet, period).response_ns[0, 1] == wanted["fixed_priority"]
    assert edf_response_times(wcet, period, deadline).response_ns[0, 1] == wanted["edf"]
    tasks = [Timing(int(c), int(t), int(d)) for c, t, d in zip(wcet, period, deadline, strict=True)]
    assert fifo_response_times(tasks)[1] == wanted["fifo"]


@pytest.mark.parametrize("preemptive", [True, False])
def test_padding_and_further_rows_change_nothing(preemptive: bool) -> None:
    rng = np.random.default_rng(5)
    case = PREEMPTIVE[0]
    plain = fp_response_times(case["C"], case["T"], preemptive=preemptive).response_ns[0].tolist()
    for _ in range(20):
        places = np.sort(rng.permutation(9)[: len(case["C"])])
        wcet, period = np.zeros((300, 9), np.int64), np.zeros((300, 9), np.int64)
        wcet[:, places], period[:, places] = case["C"], case["T"]
        result = fp_response_times(wcet, period, preemptive=preemptive)
        assert (result.status == Status.OK).all()
        assert (result.response_ns[:, places] == plain).all()
        assert (np.delete(result.response_ns, places, axis=1) == 0).all()


def test_the_worst_job_need_not_be_the_first() -> None:
    result = fp_response_times([26, 62], [70, 100], details=True)
    assert (result.worst_job[0].tolist(), result.worst_window_ns[0].tolist()) == ([0, 4], [26, 518])
    edf = edf_response_times([1, 6], [5, 10], [5, 9], details=True)
    assert edf.worst_arrival_ns[0].tolist() == [5, 1]


def test_compiled_versions_do_not_depend_on_the_callers_arguments() -> None:
    warm_up()
    kernels = (fixed_priority.respond, edf_demand.demand_test, edf_response.respond)
    before = [len(kernel.dispatcher.signatures) for kernel in kernels]
    given = (np.array([[1, 2]]), np.array([[5, 9]], np.int32), np.asfortranarray([[5, 9]]), np.array([[0, 1]]))
    for preemptive in (True, False):
        for details in (True, False):
            fp_response_times(*given, preemptive=preemptive, details=details)
            edf_response_times(*given, preemptive=preemptive, details=details)
        edf_schedulable(*given, preemptive=preemptive)
    fp_response_times(*given, last_region_ns=[[1, 1]], levels=[0, 0])
    for table in given:
        table.flags.writeable = False
    fp_response_times(*given)
    assert [len(kernel.dispatcher.signatures) for kernel in kernels] == before


@pytest.mark.parametrize("preemptive", [True, False])
def test_edf_does_not_depend_on_the_order_of_tasks(preemptive: bool) -> None:
    rng = np.random.default_rng(6)
    wcet, period, deadline = np.array([1, 6, 3, 2]), np.array([5, 20, 31, 17]), np.array([5, 19, 40, 9])
    plain = edf_response_times(wcet, period, deadline, preemptive=preemptive).response_ns[0]
    for _ in range(10):
        order = rng.permutation(4)
        again = edf_response_times(wcet[order], period[order], deadline[order], preemptive=preemptive)
        assert (again.response_ns[0] == plain[order]).all()


@pytest.mark.parametrize("scale", [1, PRIME])
def test_suspension_is_no_jitter(scale: int) -> None:
    tasks = [Timing(c * scale, t * scale, t * scale) for c, t in ((1, 2), (5, 20), (1, 50))]
    waits = [0, 5 * scale, 0]
    assert suspending_response_times(tasks, waits)[2] == 22 * scale
    assert suspension_as_blocking(tasks, waits)[2] == 32 * scale


@pytest.mark.parametrize("scale", [1, PRIME])
def test_mixed_criticality(scale: int) -> None:
    tasks = [
        DualTiming(2 * scale, 10 * scale, 10 * scale, 4 * scale),
        DualTiming(3 * scale, 12 * scale, 12 * scale),
        DualTiming(4 * scale, 30 * scale, 30 * scale, 7 * scale),
    ]
    bounds = amc_rtb(tasks)
    assert [bound.low_ns for bound in bounds] == [2 * scale, 5 * scale, 9 * scale]
    assert (bounds[2].high_ns, bounds[2].switch_ns, bounds[1].switch_ns) == (15 * scale, 18 * scale, None)
    assert amc_max(tasks)[2].switch_ns == 18 * scale
    assert static_mixed_criticality(tasks)[2] == 28 * scale


def test_slices_pay_their_switches() -> None:
    slices, switches = [6000, 3000, 1000], [500, 500, 500]
    whole = supply_of_slices(slices, switches, [True, True, True])
    once = supply_of_slices(slices, switches, [True, True, True], switch_every_slice=False)
    assert (whole.per_cycle_ns, once.per_cycle_ns, whole.cycle_ns) == (8500, 9500, 10_000)


def test_perception_tasks_pass_the_utilisation_tests() -> None:
    tasks = [Timing(c, t, t) for c, t in ((2, 10), (5, 20), (10, 50))]
    assert liu_layland(tasks)
    assert hyperbolic(tasks)
    heavier = [Timing(c, t, t) for c, t in ((5, 10), (1, 20), (13, 50))]
    assert not liu_layland([*heavier, Timing(1, 60, 60)])
