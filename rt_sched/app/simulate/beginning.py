"""The beginning of a simulation's first run with every record: checked against the rules, the bounds and monitors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rt_sched.app.runs.bounds import RunBounds, run_bounds
from rt_sched.app.runs.check_trace import check_document
from rt_sched.app.runs.judged_chains import JudgedChain, judged_chains
from rt_sched.app.runs.takeover_runs import takeover_runs
from rt_sched.app.simulate.runs import Case
from rt_sched.sim import Simulation
from rt_sched.trace.records import Trace
from rt_sched.units import NS_PER_S

#: Jobs that the beginning has, about.
_JOBS = 2000


@dataclass(frozen=True, slots=True)
class Beginning:
    """The part of the first run until `until_ns`: what the checker of traces found in it, and the analysis beside it.

    `bounds`: those of the plan hold for the whole simulation; monitors are those of this part.
    """

    until_ns: int
    trace_check: dict[str, Any]
    chains: Sequence[JudgedChain]
    bounds: RunBounds


def look_at_beginning(case: Case) -> Beginning:
    """The first of its jobs, about 2000; all of a scenario, which is short."""
    per_second = sum(NS_PER_S / max(task.separation_ns, 1) for task in case.system.tasks)
    until_ns = min(case.horizon_ns, max(1, int(_JOBS / max(per_second, 1e-9) * NS_PER_S)))
    if case.scenario is not None:
        until_ns = case.horizon_ns
    trace = traced(case, 0, until_ns)
    chains, bounds = beside(case, 0, trace)
    return Beginning(until_ns, check_document(trace), chains, bounds)


def traced(case: Case, run: int, until_ns: int) -> Trace:
    """Every record of a run until `until_ns`."""
    simulation = Simulation(case.lowered(run, until_ns, case.detection(run), with_samples=True))
    simulation.run()
    return simulation.trace()


def beside(case: Case, run: int, trace: Trace) -> tuple[Sequence[JudgedChain], RunBounds]:
    """The chains of a run's trace, and the analysis beside it."""
    sensors = {sensor.name for sensor in case.system.sensors}
    detection = case.detection(run)
    chains = judged_chains(case.system, case.plan, trace, case.faults, sensors, (), detection.plan_changes)
    came = [one for one in detection.decisions if (one.in_force_ns or one.noticed_ns) < trace.horizon_ns]
    seen = replace(detection, decisions=tuple(came))
    takeovers = takeover_runs(case.system, case.plan, trace, seen, case.faults, sensors)
    return chains, run_bounds(case.system, case.plan, trace, chains, (), takeovers)
