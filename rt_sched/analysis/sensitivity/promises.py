"""What is proven of a mode: every deadline, every limit, every declared wait; and what a change of it breaks first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rt_sched.analysis.chains.bounds import chain_bound, chain_limits
from rt_sched.analysis.chains.delays import Unbounded
from rt_sched.analysis.chains.disparity import disparity_results
from rt_sched.analysis.chains.segments import Segment, Walk
from rt_sched.analysis.loads.load import ProcessorLoad
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.methods import Method
from rt_sched.analysis.result import Bound, Quantity, Verdict
from rt_sched.analysis.system.engine import Known, TaskBound, mode_bounds, processor_bounds
from rt_sched.analysis.system.misses import steady_misses
from rt_sched.analysis.system.propagation import as_arrivals
from rt_sched.analysis.system.waits import late_wait, wait_results
from rt_sched.model import CauseEffectChain
from rt_sched.trace.setup import OverrunAction, TaskRow


class Promises:
    """The deadlines, the limits on chains and on time disparities, and the declared waits for elements that serve jobs,
    of one mode: to be kept when it changes.

    A promise counts as kept when a bound proves it, or for a weakly-hard deadline a bound on the misses; tests of a
    whole processor are not asked. Tasks and edges of a changed mode are those of the mode itself.
    """

    def __init__(self, mode: ModeLoad, methods: Sequence[Method]) -> None:
        self._mode, self._methods = mode, methods
        self._known: Known = {}
        self._uncut = {row.name for row in mode.setup.tasks if not _is_cut(row)}
        absent = {task.name for task, here in zip(mode.system.tasks, mode.active, strict=True) if not here}
        chains = [(chain, chain_limits(mode.system, chain)) for chain in mode.system.chains]
        self.chains = {chain: limits for chain, limits in chains if limits and not absent.intersection(chain.path)}
        self._limits_disparity = any(task.max_disparity_ns is not None for task in mode.system.tasks)
        self.bounds = mode_bounds(mode, methods, self._known)
        walk = Walk(mode, self.bounds)
        self._declared = {chain.name: _segments(walk, chain) for chain in self.chains}
        self.broken_now: str | None = "not yet known"
        self.broken_now = self.broken(mode)

    def broken(self, mode: ModeLoad, *, waits_as_declared: bool = False) -> str | None:
        """The first promise that is not kept in a changed mode, in words; None when all are.

        `waits_as_declared`: chains wait for the next sample no less long than they do in the mode itself.
        """
        late = self._late_at_once(mode)
        if late is not None:
            return late
        bounds = mode_bounds(mode, self._methods, self._known)
        late = _late(bounds[index] for index in self.hard(bounds)) or self._missing(mode, bounds)
        if late is not None:
            return late
        for row, present in zip(mode.setup.tasks, mode.active, strict=True):
            if present and row.name in self._uncut and _is_cut(row):
                return f"budget of {row.name}"
        wait = late_wait(wait_results(mode, bounds))
        if wait is not None:
            return f"declared wait of {wait.task} for {wait.element}"
        return self._broken_chain(mode, bounds, waits_as_declared) or self._broken_disparity(mode, bounds)

    def _late_at_once(self, mode: ModeLoad) -> str | None:
        """A deadline that a changed processor misses even if messages still arrive as they do in the mode itself."""
        if self.broken_now is not None:
            return None
        for load, before in zip(mode.loads, self._mode.loads, strict=True):
            if load is before or load == before or self._rests_on_others(load):
                continue
            arrivals = {task.index: self.bounds[task.index].streams for task in load.tasks}
            given = replace(
                load, tasks=tuple(replace(task, streams=as_arrivals(arrivals[task.index])) for task in load.tasks)
            )
            found = {one.task.index: one for one in processor_bounds(given, self._methods, dict(arrivals))}
            late = _late(found[index] for index in self.hard(found))
            if late is not None:
                return late
        return None

    def hard(self, indices: Iterable[int]) -> list[int]:
        """Those of some tasks, by index, that may miss no deadline at all."""
        return sorted(index for index in indices if not self.may_miss(index))

    def may_miss(self, index: int) -> bool:
        """Whether a task has a weakly-hard deadline."""
        return self._mode.setup.tasks[index].weakly_hard is not None

    def _missing(self, mode: ModeLoad, bounds: Mapping[int, TaskBound]) -> str | None:
        """A task that is not proven to keep its weakly-hard deadline."""
        if not any(self.may_miss(index) for index in bounds):
            return None
        found = steady_misses(mode, bounds)
        return next(
            (f"miss limit of {one.task}" for one in found.values() if one.verdict is not Verdict.SCHEDULABLE), None
        )

    def _rests_on_others(self, load: ProcessorLoad) -> bool:
        """Whether bounds know more than the processor and its arrivals: a task graph, or how often others spin."""
        graph = len(load.tasks) > 1 and any(self.bounds[t.index].since_source_ns is not None for t in load.tasks)
        return graph or any(task.spin_ns for task in load.tasks)

    def _broken_chain(self, mode: ModeLoad, bounds: Mapping[int, TaskBound], as_declared: bool) -> str | None:
        walk = Walk(mode, bounds) if self.chains else None
        for chain, limits in self.chains.items():
            segments = None if walk is None else _segments(walk, chain)
            if segments is None:
                return f"bound on chain {chain.name}"
            if as_declared:
                segments = _no_shorter_gaps(segments, self._declared[chain.name] or ())
            for quantity, limit_ns in limits:
                if chain_bound(segments, quantity).value_ns > limit_ns:
                    return f"{quantity.value.replace('_', ' ')} limit of {chain.name}"
        return None

    def _broken_disparity(self, mode: ModeLoad, bounds: Mapping[int, TaskBound]) -> str | None:
        if not self._limits_disparity:
            return None
        for one in disparity_results(mode, bounds):
            if one.verdict is not Verdict.SCHEDULABLE:
                return f"disparity limit of {one.task}"
        return None

    def chain_bounds(self, chain: CauseEffectChain) -> Mapping[Quantity, Bound]:
        """The bounds of a chain as declared; of one without bounds nothing."""
        segments = self._declared[chain.name]
        return {} if segments is None else {quantity: chain_bound(segments, quantity) for quantity in Quantity}

    def slack_ns(self, chain: CauseEffectChain) -> int:
        """The least distance of a bound of the chain from its limit."""
        found = self.chain_bounds(chain)
        return min(limit_ns - found[quantity].value_ns for quantity, limit_ns in self.chains[chain])

    def least_slack_beside_ns(self, index: int) -> int:
        """The least distance of a bound from its deadline among the tasks of the processor of task `index`."""
        load = next(load for load in self._mode.loads if any(task.index == index for task in load.tasks))
        found = [self.bounds[task.index] for task in load.tasks]
        return min(one.task.deadline_ns - one.bound.value_ns for one in found if one.bound is not None)


def _late(found: Iterable[TaskBound]) -> str | None:
    """The first deadline that no bound proves to be met."""
    for one in found:
        if one.bound is None or one.bound.value_ns > one.task.deadline_ns:
            return f"deadline of {one.task.name}"
    return None


def _segments(walk: Walk, chain: CauseEffectChain) -> list[Segment] | None:
    try:
        return walk.along(chain.path)
    except Unbounded:
        return None


def _no_shorter_gaps(segments: Sequence[Segment], declared: Sequence[Segment]) -> list[Segment]:
    return [replace(one, gap_ns=max(one.gap_ns, before.gap_ns)) for one, before in zip(segments, declared, strict=True)]


def _is_cut(row: TaskRow) -> bool:
    """Whether the longest job of a task needs more than a budget that has consequences."""
    longest_ns = row.demand_ns if isinstance(row.demand_ns, int) else row.demand_ns[-1]
    return row.budget_ns is not None and row.overrun_action is not OverrunAction.LOG and longest_ns > row.budget_ns
