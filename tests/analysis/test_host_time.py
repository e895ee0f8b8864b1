"""Runs of the modelled machine never take longer than what went first; one from which a host took the core does."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from chain_systems import Node, chain_system

from rt_sched import model
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.measured.host_time import host_monitor
from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.lowering import lower, nominal_samples
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace.records import JobStatus, Trace

CAMERA = model.Sensor("cam", model.SensorKind.CAMERA, Fraction(10**9, 100), ("box",), (), 3, 4, 2)
NODES = [
    Node("detect", 10, None, "cam", bcet=4, D=90),
    Node("clock", 6, 50, "detect", bcet=3, D=50),
    Node("follow", 20, None, "detect", bcet=1, D=95),
    Node("alone", 30, 200, bcet=5, D=180),
]
HORIZON_NS = 6000


def system_under(policy: model.Policy, *, preemptive: bool = True) -> model.System:
    made = chain_system(NODES, ("cam", "detect", "clock"), sensors=(CAMERA,), policies={"p0": policy})
    (device,) = made.devices
    elements = tuple(replace(pe, preemptive=preemptive, switch_cost_ns=1) for pe in device.processing_elements)
    return replace(made, devices=(replace(device, processing_elements=elements),))


def trace_of(system: model.System, seed: int) -> Trace:
    samples = nominal_samples(system, HORIZON_NS, seed)
    simulation = Simulation(lower(system, make_plan(system), samples, horizon_ns=HORIZON_NS, seed=seed))
    simulation.run()
    return simulation.trace()


@pytest.mark.parametrize("policy", [model.Policy.FIXED_PRIORITY, model.Policy.EDF, model.Policy.FIFO])
@pytest.mark.parametrize("preemptive", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_the_modelled_machine_takes_nothing_away(policy: model.Policy, preemptive: bool, seed: int) -> None:
    system = system_under(policy, preemptive=preemptive)
    (mode,) = mode_loads(system, make_plan(system))
    found = host_monitor(mode, trace_of(system, seed), {})
    assert found is not None and found.checked > 200 and found.holds, found


@pytest.mark.parametrize("task", range(len(NODES)))
def test_a_core_that_was_taken_away_is_noticed_by_the_job_that_it_delayed(task: int) -> None:
    system = system_under(model.Policy.FIXED_PRIORITY)
    (mode,) = mode_loads(system, make_plan(system))
    trace = trace_of(system, 0)
    row = int(np.flatnonzero((trace.jobs.task == task) & (trace.jobs.status == JobStatus.COMPLETED))[3])
    late = trace.jobs.finish_ns.copy()
    late[row] += 200
    found = host_monitor(mode, replace(trace, jobs=replace(trace.jobs, finish_ns=late)), {})
    assert found is not None
    assert (NODES[task].name, int(trace.jobs.number[row])) in {(one.who, one.number) for one in found.first}


def test_a_job_that_waits_for_its_reservation_is_not_late() -> None:
    """Two jobs 10 apart of a reservation with a period of 100: the second one has its runtime 90 after it arrived."""
    system = system_under(model.Policy.EDF)
    (mode,) = mode_loads(system, make_plan(system))
    trace = trace_of(system, 0)
    first, second = np.flatnonzero(trace.jobs.task == 3)[:2].tolist()
    jobs = replace(
        trace.jobs,
        arrival_ns=np.array([0, 10]),
        finish_ns=np.array([20, 125]),
        **{
            name: getattr(trace.jobs, name)[[first, second]]
            for name in (
                *("task", "number", "release_ns", "start_ns", "deadline_ns", "demand_ns", "executed_ns"),
                *("capture_ns", "status", "missed", "overrun", "inputs"),
            )
        },
    )
    short = replace(trace, jobs=jobs)
    under = host_monitor(mode, short, {3: Reservation(32, 100, 100)})
    without = host_monitor(mode, short, {})
    assert under is not None and under.holds
    assert without is not None and [one.number for one in without.first] == [1]
