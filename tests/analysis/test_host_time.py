"""Runs of the modelled machine never end later than by declared times; where a host takes the core, jobs that exceed
their bounds do.
"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from chain_systems import Node, chain_system

from rt_sched import model
from rt_sched.analysis.analyze import analyze_mode
from rt_sched.analysis.loads.resolve import ModeLoad, mode_loads
from rt_sched.analysis.measured.host_time import explained_by_overheads, host_monitor
from rt_sched.analysis.measured.monitors import Monitor
from rt_sched.analysis.measured.observed import Exceeded, exceeded_responses
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.methods.reservations import Reservation, reservation_method
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
POLICIES = [model.Policy.FIXED_PRIORITY, model.Policy.EDF, model.Policy.FIFO]


def system_under(policy: model.Policy, *, preemptive: bool = True) -> model.System:
    return _on(chain_system(NODES, ("cam", "detect", "clock"), sensors=(CAMERA,), policies={"p0": policy}), preemptive)


def _on(made: model.System, preemptive: bool, switch_ns: int = 1) -> model.System:
    (device,) = made.devices
    elements = tuple(replace(pe, preemptive=preemptive, switch_cost_ns=switch_ns) for pe in device.processing_elements)
    return replace(made, devices=(replace(device, processing_elements=elements),))


def trace_of(system: model.System, seed: int) -> Trace:
    samples = nominal_samples(system, HORIZON_NS, seed)
    simulation = Simulation(lower(system, make_plan(system), samples, horizon_ns=HORIZON_NS, seed=seed))
    simulation.run()
    return simulation.trace()


@pytest.mark.parametrize("policy", POLICIES)
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
        release_ns=np.array([0, 10]),
        finish_ns=np.array([20, 125]),
        **{
            name: getattr(trace.jobs, name)[[first, second]]
            for name in (
                *("task", "number", "start_ns", "deadline_ns", "demand_ns", "executed_ns"),
                *("capture_ns", "status", "missed", "overrun", "inputs"),
            )
        },
    )
    short = replace(trace, jobs=jobs)
    under = host_monitor(mode, short, {index: Reservation(32, 100, 100) for index in range(len(NODES))})
    without = host_monitor(mode, short, {})
    assert under is not None and under.holds
    assert without is not None and [one.number for one in without.first] == [1]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("switch_ns", [0, 1, 3])
def test_switches_explain_how_much_later_the_modelled_machine_is(policy: model.Policy, switch_ns: int) -> None:
    made = chain_system(NODES, ("cam", "detect", "clock"), sensors=(CAMERA,), policies={"p0": policy})
    dear, free = _on(made, True, switch_ns), _on(made, True, 0)
    trace = trace_of(dear, 1)
    (told,), (untold,) = (mode_loads(one, make_plan(one)) for one in (dear, free))
    with_switches = explained_by_overheads(told, trace, {})
    completed = [int(np.count_nonzero(trace.jobs.task == task)) for task in range(len(NODES))]
    assert [jobs for jobs, _ in with_switches.values()] == pytest.approx(completed, abs=2)
    assert all(jobs == explained for jobs, explained in with_switches.values()), with_switches
    without = explained_by_overheads(untold, trace, {})
    assert any(jobs > explained for jobs, explained in without.values()) is (switch_ns > 0)


class Robbed:
    """Random tasks on a core beside one more, at `place` among them, that the host is: no trace tells of its jobs.

    `declared`: whether the analysis knows of it, as of what it really takes. `late`: whether some releases are.
    """

    def __init__(
        self, draw: random.Random, policy: model.Policy, preemptive: bool, *, declared: bool, late: bool = True
    ) -> None:
        count, load = draw.randint(2, 5), draw.uniform(0.5, 0.85)
        nodes = []
        for index in range(count):
            period = draw.choice([40, 50, 75, 100, 120, 200, 300])
            cost = max(2, int(period * load / count * draw.uniform(0.5, 1.5)))
            jitter = draw.choice([0, 0, period // 10]) if late else 0
            deadline = draw.choice([period, period, period * 3 // 4])
            nodes.append(
                Node(f"t{index}", cost, period, None, bcet=max(1, cost // 3), D=max(deadline, cost), jitter=jitter)
            )
        nodes.sort(key=lambda one: one.D or 0)
        honest_ns, period_ns = draw.randint(2, 6), draw.choice([60, 90, 150])
        taken_ns = honest_ns if declared else draw.choice([1, 1, 2, 4, 8, 16, 32])
        host = Node("host", taken_ns, period_ns, None, bcet=1, D=honest_ns * 2 + 2, offset=draw.randint(0, 20))
        # The host goes first, whatever orders the others: it has the highest level, or the nearest deadline.
        ran = _on(chain_system([host, *nodes], ("host",), policies={"p0": policy}), preemptive)
        trace = trace_of(ran, draw.randint(0, 99))
        told = [replace(host, C=honest_ns, bcet=1)] if declared else []
        self.system = _on(chain_system([*nodes, *told], (nodes[0].name,), policies={"p0": policy}), preemptive)
        if declared:
            *others, last = self.system.tasks
            self.system = replace(self.system, tasks=(*others, replace(last, priority=-1)))
        self.trace = _without_first(trace, self.system, count)


def _without_first(trace: Trace, told: model.System, count: int) -> Trace:
    """As if task 0 had never been, and the others were numbered from 0 on."""
    jobs = trace.jobs
    kept = jobs.task > 0
    columns = {name: getattr(jobs, name)[kept] for name in jobs.__dataclass_fields__}
    columns["task"] = columns["task"] - 1
    (mode,) = mode_loads(told, make_plan(told))
    setup = replace(mode.setup, tasks=mode.setup.tasks[:count])
    return replace(trace, jobs=replace(jobs, **columns), task_names=trace.task_names[1:], setup=setup)


def _judged(robbed: Robbed) -> tuple[Monitor, list[Exceeded]]:
    plan = make_plan(robbed.system)
    (mode,) = mode_loads(robbed.system, plan)
    found = host_monitor(mode, robbed.trace, {})
    assert found is not None
    return found, _over(mode, robbed.trace, METHODS)


def _over(mode: ModeLoad, trace: Trace, methods: object) -> list[Exceeded]:
    result = analyze_mode(mode, methods, search_witnesses=False)  # type: ignore[arg-type]
    known = tuple(one for one in result.tasks if one.task in trace.task_names)
    return exceeded_responses(trace, replace(result, tasks=known, disparities=()))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("preemptive", [True, False])
def test_no_job_exceeds_its_bound_while_the_host_takes_no_time(policy: model.Policy, preemptive: bool) -> None:
    """Bounds hold as long as the monitor does: whatever a host takes, and whenever, a job over its bound is told."""
    draw, over, silent = random.Random(f"{policy} {preemptive}"), 0, 0  # noqa: S311
    for _ in range(60):
        found, exceeded = _judged(Robbed(draw, policy, preemptive, declared=False))
        late = {(one.who, one.number) for one in exceeded}
        assert not late or found.broken >= len(late), (late, found)
        over, silent = over + bool(late), silent + found.holds
    assert over >= 3 and silent >= 3


@pytest.mark.parametrize("policy", [model.Policy.FIXED_PRIORITY, model.Policy.EDF])
@pytest.mark.parametrize("preemptive", [True, False])
def test_what_the_host_declares_is_no_loss(policy: model.Policy, preemptive: bool) -> None:
    draw = random.Random(f"{policy} {preemptive} declared")  # noqa: S311
    for _ in range(60):
        robbed = Robbed(draw, policy, preemptive, declared=True)
        found, _ = _judged(robbed)
        assert found.holds, found


@pytest.mark.parametrize("declared", [True, False])
def test_reservations_have_their_runtime_unless_the_host_takes_time(declared: bool) -> None:
    draw, over, silent = random.Random(f"reserved {declared}"), 0, 0  # noqa: S311
    for _ in range(80):
        robbed = Robbed(draw, model.Policy.EDF, True, declared=declared, late=False)
        (mode,) = mode_loads(robbed.system, make_plan(robbed.system))
        reservations = {
            task.index: Reservation(task.cost_ns, min(task.deadline_ns, task.streams[0].period_ns), period_ns)
            for load in mode.loads
            for task in load.tasks
            for period_ns in [task.streams[0].period_ns]
            if task.cost_ns <= min(task.deadline_ns, period_ns)
        }
        if len(reservations) < len(mode.system.tasks):
            continue
        found = host_monitor(mode, robbed.trace, reservations)
        assert found is not None
        exceeded = _over(mode, robbed.trace, (reservation_method(reservations),))
        assert not exceeded or not found.holds, (exceeded, found)
        assert not declared or not exceeded
        assert found.holds or not declared, found
        over, silent = over + bool(exceeded), silent + found.holds
    assert silent >= 3 and (declared or over >= 3)
