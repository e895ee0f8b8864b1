"""Random rigs that lose several things, for good or for a while: no rule broken, no bound exceeded that covers it."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "planner" / "failover"))
from failover_rigs import rigs

from rt_sched.app.runs.bounds import run_bounds
from rt_sched.app.runs.check_trace import check_document
from rt_sched.app.runs.judged_chains import judged_chains
from rt_sched.app.runs.takeover_runs import takeover_runs
from rt_sched.lowering import check_plan, lower, nominal_samples
from rt_sched.model import Fault, FaultKind, System
from rt_sched.planner import make_plan
from rt_sched.planner.failover import plan_takeovers
from rt_sched.runtime.detection import detect
from rt_sched.sim import Simulation

MS = 1_000_000
END = 1_500 * MS


@st.composite
def losses(draw: st.DrawFn, system: System) -> list[Fault]:
    """One to three, with or without an end."""
    what = [(FaultKind(sensor.kind.value), sensor.name) for sensor in system.sensors]
    what += [(FaultKind.DEVICE, device.name) for device in system.devices if device.name != "gateway"]
    what += [(FaultKind.LINK, link.name) for link in system.links]
    found = []
    for kind, name in draw(st.lists(st.sampled_from(what), min_size=1, max_size=3)):
        begin_ns = draw(st.integers(200 * MS, 900 * MS))
        until_ns = draw(st.sampled_from([None, begin_ns + draw(st.integers(1, 300)) * MS]))
        found.append(Fault(kind, name, begin_ns, until_ns))
    return sorted(found, key=lambda fault: fault.time_ns)


@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=(Phase.reuse, Phase.generate)
)
@given(rigs(), st.data())
def test_several_losses_break_no_rule_and_no_bound(system: System, data: st.DataObject) -> None:
    plan = make_plan(system)
    assume(not check_plan(system, plan))
    plan = plan_takeovers(system, plan)
    sensors = [sensor.name for sensor in system.sensors]
    for seed in range(2):
        faults = data.draw(losses(system))
        samples = nominal_samples(system, END, seed)
        found = detect(system, plan, samples, faults, sensors, END)
        changes = found.plan_changes
        simulation = Simulation(
            lower(system, plan, samples, horizon_ns=END, seed=seed, faults=faults, plan_changes=changes)
        )
        simulation.run()
        trace = simulation.trace()
        assert check_document(trace)["violations"] == []
        chains = judged_chains(system, plan, trace, faults, sensors, [], changes)
        runs = takeover_runs(system, plan, trace, found, faults, sensors)
        bounds = run_bounds(system, plan, trace, chains, [], runs)
        assert bounds.exceeded == []
        assert [one["assumption"] for one in bounds.monitors if not one["holds"]] == []
