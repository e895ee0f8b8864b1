"""How many switches small tasks that follow each other cost, on one core and apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rt_sched.lowering import Execution, lower, nominal_samples
from rt_sched.model import Plan, System
from rt_sched.planner.fusion import Fusion
from rt_sched.planner.plan import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace.records import JobStatus, SliceKind, Trace
from rt_sched.units import NS_PER_S

#: What is simulated: so many jobs of the slowest pair, but no longer than this.
_FRAMES = 20
_LONGEST_NS = 2 * NS_PER_S


@dataclass(frozen=True, slots=True)
class PairSwitches:
    """Switches of all cores for each job of `second`: with the pairs on one core each, and with this one apart."""

    first: str
    second: str
    together: Fraction
    apart: Fraction


def switches_of(
    system: System, elements: Mapping[str, tuple[str, str]], policy: str, fused: Sequence[Fusion]
) -> tuple[PairSwitches, ...]:
    """Counted in a run of each plan in which every job needs its worst case and sensors deliver as declared.

    Of every pair what it alone changes: the others are on one core, and as they are, in both runs.
    """
    if not fused:
        return ()
    together = _run(system, make_plan(system, policy, elements=elements, beside=_beside(fused)), fused)
    found = []
    for one in fused:
        others = [other for other in fused if other is not one]
        apart = _run(system, make_plan(system, policy, elements=elements, beside=_beside(others)), fused)
        jobs = _jobs(together, one.second)
        if jobs:
            found.append(
                PairSwitches(
                    one.first,
                    one.second,
                    Fraction(_switches(together), jobs),
                    Fraction(_switches(apart), jobs),
                )
            )
    return tuple(found)


def switches_for_each_job(system: System, plan: Plan, task: str) -> Fraction:
    """Switches of all cores for each job of `task`, counted as `switches_of` does."""
    trace = _simulated(system, plan, next(one.separation_ns for one in system.tasks if one.name == task))
    jobs = _jobs(trace, task)
    return Fraction(_switches(trace), jobs) if jobs else Fraction(0)


def _beside(fused: Sequence[Fusion]) -> dict[str, str]:
    return {one.second: one.first for one in fused}


def _run(system: System, plan: Plan, fused: Sequence[Fusion]) -> Trace:
    separation_ns = {task.name: task.separation_ns for task in system.tasks}
    return _simulated(system, plan, max(separation_ns[one.first] for one in fused))


def _simulated(system: System, plan: Plan, slowest_ns: int) -> Trace:
    horizon_ns = min(_LONGEST_NS, _FRAMES * slowest_ns)
    samples = nominal_samples(system, horizon_ns)
    simulation = Simulation(lower(system, plan, samples, horizon_ns=horizon_ns, execution=Execution.WCET))
    simulation.run()
    return simulation.trace()


def _jobs(trace: Trace, task: str) -> int:
    mine = np.equal(trace.jobs.task, trace.task_names.index(task)) & np.equal(trace.jobs.status, JobStatus.COMPLETED)
    return int(np.count_nonzero(mine))


def _switches(trace: Trace) -> int:
    return int(np.count_nonzero(np.equal(trace.slices.kind, SliceKind.SWITCH)))
