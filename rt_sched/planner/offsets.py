"""Offsets of timed tasks that shorten the bounds of chains: a plan may set them in place of the file's."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rt_sched.analysis.analyze import analyze_mode
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.lowering.offsets import with_offsets
from rt_sched.model import OnMessage, Periodic, Plan, Policy, System
from rt_sched.planner.objectives import Costs, costs_of
from rt_sched.planner.placing.stopping import Stop
from rt_sched.units import NS_PER_S, NS_PER_US, floor_int

#: Offsets that are tried for one task, evenly over its period; then as many around the best.
_STEPS = 16
#: Proposed offsets are whole multiples of this.
_GRAIN_NS = 100 * NS_PER_US


@dataclass(frozen=True, slots=True)
class OffsetProposal:
    """With `offset_ns` in place of `before_offset_ns` the mean latency bound of chains falls from `before_ns` to
    `after_ns`.

    Proposals build on each other, in their order. Every one is accepted by the analysis.
    """

    task: str
    before_offset_ns: int
    offset_ns: int
    before_ns: int
    after_ns: int


def propose_offsets(system: System, plan: Plan, stop: Stop) -> tuple[OffsetProposal, ...]:
    """Better offsets of the timed tasks that chains run through behind their heads, the first task of a chain first."""
    costs = _costs(system, plan)
    found = []
    tasks = {task.name: task for task in with_offsets(system, plan).tasks}
    for name in _timed_behind_heads(system, plan):
        activation = tasks[name].activation
        if not isinstance(activation, Periodic) or costs.latency_ns is None:
            continue
        best_ns, best = activation.offset_ns, costs
        period_ns = floor_int(NS_PER_S / activation.rate_hz)
        step_ns = max(_GRAIN_NS, period_ns // _STEPS // _GRAIN_NS * _GRAIN_NS)
        while step_ns >= _GRAIN_NS and not stop.over:
            around = best_ns
            for offset_ns in range(around - step_ns * _STEPS // 2, around + step_ns * _STEPS // 2 + 1, step_ns):
                tried_ns = offset_ns % period_ns // _GRAIN_NS * _GRAIN_NS
                if stop.over or tried_ns == best_ns:
                    continue
                tried = _costs(system, with_offset(plan, name, tried_ns))
                if tried.latency_ns is None or (costs.accepted and not tried.accepted):
                    continue
                if best.latency_ns is None or (tried.late, tried.latency_ns) < (best.late, best.latency_ns):
                    best_ns, best = tried_ns, tried
            step_ns = step_ns // (_STEPS // 2) // _GRAIN_NS * _GRAIN_NS
        if best.latency_ns is not None and best.latency_ns < costs.latency_ns:
            found.append(OffsetProposal(name, activation.offset_ns, best_ns, costs.latency_ns, best.latency_ns))
            plan, costs = with_offset(plan, name, best_ns), best
    return tuple(found)


def with_offset(plan: Plan, task: str, offset_ns: int) -> Plan:
    """The plan with another offset of a task."""
    return replace(plan, offsets=tuple(sorted({**dict(plan.offsets), task: offset_ns}.items())))


def _costs(system: System, plan: Plan) -> Costs:
    modes = [analyze_mode(mode, search_witnesses=False) for mode in mode_loads(system, plan)]
    return costs_of(system, plan, modes)


def _timed_behind_heads(system: System, plan: Plan) -> list[str]:
    """Those that may have another offset: what runs by a table may not."""
    tasks = {task.name: task for task in system.tasks}
    fixed = {one.task for one in plan.placements if plan.processors[one.processor].policy is Policy.TABLE}
    names = [
        name
        for chain in system.chains
        for name in chain.path[1:]
        if name in tasks and name not in fixed and not isinstance(tasks[name].activation, OnMessage)
    ]
    return list(dict.fromkeys(names))
