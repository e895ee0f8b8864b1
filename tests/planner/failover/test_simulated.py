"""Takeovers in the kernel: no response above its bound across the switch, no recovery later than its bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from failover_rigs import rig, rigs
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from rt_sched.analysis.faults.takeover_loads import faults_of
from rt_sched.analysis.faults.takeovers import TakeoverResult
from rt_sched.analysis.measured.observed import exceeded_chains
from rt_sched.analysis.result import Verdict
from rt_sched.lowering import check_plan, lower, nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import Plan, PlanChange, System, Takeover
from rt_sched.planner import make_plan
from rt_sched.planner.failover import failover_plan
from rt_sched.sim import Simulation
from rt_sched.trace.chains import measure_chain
from rt_sched.trace.records import JobStatus, Trace

MS = 1_000_000
HORIZON_NS = 1500 * MS


def _run(system: System, plan: Plan, takeover: Takeover, loss_ns: int, switch_ns: int, how: Execution) -> Trace:
    faults = [replace(fault, time_ns=loss_ns) for fault in faults_of(takeover.losses)]
    given_input = lower(
        system,
        plan,
        nominal_samples(system, HORIZON_NS),
        horizon_ns=HORIZON_NS,
        execution=how,
        faults=faults,
        plan_changes=[PlanChange(switch_ns, takeover)],
    )
    simulation = Simulation(given_input)
    simulation.run()
    return simulation.trace()


def _check_responses(system: System, trace: Trace, result: TakeoverResult, switch_ns: int) -> int:
    """Jobs that arrive from the switch on, and those of tasks that stay at any time; the number looked at."""
    jobs = trace.jobs
    index_of = {task.name: index for index, task in enumerate(system.tasks)}
    looked_at = 0
    for task in result.tasks:
        if task.across is None:
            continue
        since_ns = switch_ns if task.moved else 0
        mine = (jobs.task == index_of[task.task]) & (jobs.arrival_ns >= since_ns)
        done = mine & (jobs.status == JobStatus.COMPLETED)
        looked_at += int(done.sum())
        responses = jobs.finish_ns[done] - jobs.arrival_ns[done]
        assert responses.max(initial=0) <= task.across.value_ns, task.task
    return looked_at


def _check_chains(trace: Trace, result: TakeoverResult, switch_ns: int) -> int:
    """What is read from the switch on; the number of outputs looked at."""
    measured = {one.chain: measure_chain(trace, one.path, from_ns=switch_ns) for one in result.chains_across}
    assert exceeded_chains(result.chains_across, measured, HORIZON_NS) == []
    return sum(len(one.output_ns) for one in measured.values())


@pytest.mark.parametrize("loss", ["device:a", "device:b", "camera:front"])
@pytest.mark.parametrize("after_us", [0, 1, 7_000, 13_500, 26_000, 38_200, 49_999])
def test_recovery_is_no_later_than_its_bound(loss: str, after_us: int) -> None:
    system = rig()
    found = failover_plan(system, make_plan(system), [(loss,)])
    takeover = found.plan.takeovers[0]
    (result,) = found.outcomes[0].results
    loss_ns = 500 * MS + after_us * 1000
    switch_ns = loss_ns + result.detection.value_ns + result.decision_ns
    trace = _run(system, found.plan, takeover, loss_ns, switch_ns, Execution.WCET)
    assert _check_responses(system, trace, result, switch_ns) > 50
    assert _check_chains(trace, result, switch_ns) > 20
    assert len(result.chains_across) == (1 if loss == "camera:front" else 2)
    jobs = trace.jobs
    names = [task.name for task in system.tasks]
    (delay_ns,) = dict(takeover.at_once).values()
    at_once = (jobs.task == names.index("fuse")) & (jobs.arrival_ns == switch_ns + delay_ns)
    assert at_once.any()
    fused_ns = int(jobs.finish_ns[np.flatnonzero(at_once)[0]])
    decided_ns = jobs.finish_ns[(jobs.task == names.index("decide")) & (jobs.arrival_ns >= fused_ns)].min()
    commanded_ns = jobs.finish_ns[(jobs.task == names.index("arbiter")) & (jobs.arrival_ns >= decided_ns)].min()
    assert result.recovered_ns is not None
    assert commanded_ns - loss_ns <= result.recovered_ns


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=(Phase.reuse, Phase.generate)
)
@given(rigs(), st.integers(0, 100 * MS), st.sampled_from([Execution.WCET, Execution.PROFILE]), st.integers(0, 40 * MS))
def test_no_response_across_a_takeover_is_above_its_bound(
    system: System, after_ns: int, how: Execution, noticed_ns: int
) -> None:
    nominal = make_plan(system)
    assume(not check_plan(system, nominal))
    devices = [device.name for device in system.devices if device.name != "gateway"]
    found = failover_plan(system, nominal, [(f"device:{name}",) for name in devices])
    for outcome in found.outcomes:
        if outcome.takeover is None or not outcome.takeover.moves:
            continue
        (result,) = outcome.results
        loss_ns = 400 * MS + after_ns
        switch_ns = loss_ns + noticed_ns
        trace = _run(system, found.plan, outcome.takeover, loss_ns, switch_ns, how)
        _check_responses(system, trace, result, switch_ns)
        _check_chains(trace, result, switch_ns)
        if outcome.verdict is Verdict.SCHEDULABLE:
            after = trace.jobs.arrival_ns >= switch_ns
            assert not trace.jobs.missed[after & (trace.jobs.status == JobStatus.COMPLETED)].any()
