"""The verdict on changes of mode: every task that goes on or comes, and every chain that exists on both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rt_sched import model
from rt_sched.analysis.chains.bounds import chain_results
from rt_sched.analysis.faults.result import TransitionResult, TransitionTask
from rt_sched.analysis.faults.transitions.loads import Presence, Transition, transition
from rt_sched.analysis.faults.transitions.methods import split_methods
from rt_sched.analysis.faults.transitions.misses import misses_across
from rt_sched.analysis.faults.witness import transition_witnesses
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.methods import METHODS, Method
from rt_sched.analysis.result import ChainResult, Misses, Verdict, Witness, worst_verdict
from rt_sched.analysis.system.engine import TaskBound, mode_bounds
from rt_sched.analysis.system.verdicts import settled, weakly_hard_verdict
from rt_sched.analysis.system.waits import wait_results
from rt_sched.units import format_ns

Bounds = Mapping[int, TaskBound]


def transition_bounds(change: Transition, methods: Sequence[Method] = METHODS) -> dict[int, TaskBound]:
    """Bound of every task across a change of mode, by its index."""
    return mode_bounds(change.load, (*methods, *split_methods(change)))


class Transitions:
    """The changes between the modes of one system, each analysed when it is first asked for.

    `bounds`: of every mode, by its name.
    """

    def __init__(
        self,
        system: model.System,
        modes: Mapping[str, ModeLoad],
        bounds: Mapping[str, Bounds],
        methods: Sequence[Method] = METHODS,
    ) -> None:
        self._system, self._modes, self._bounds, self._methods = system, modes, bounds, methods
        self._found: dict[tuple[str, str], tuple[TransitionResult, Bounds, tuple[ChainResult, ...]]] = {}

    def result(self, old: str, new: str) -> TransitionResult:
        """Verdict, tasks and chains of a change."""
        return self._analysed(old, new)[0]

    def bounds(self, old: str, new: str) -> Bounds:
        """Bounds across it, by index of the task."""
        return self._analysed(old, new)[1]

    def chains(self, old: str, new: str) -> tuple[ChainResult, ...]:
        """Bounds of every chain whose tasks exist on one side or the other, while they do."""
        return self._analysed(old, new)[2]

    def found(self) -> tuple[TransitionResult, ...]:
        """All that have been asked for, in the order of the modes."""
        order = list(self._modes)
        pairs = sorted(self._found, key=lambda pair: (order.index(pair[0]), order.index(pair[1])))
        return tuple(self._found[pair][0] for pair in pairs)

    def _analysed(self, old: str, new: str) -> tuple[TransitionResult, Bounds, tuple[ChainResult, ...]]:
        if (old, new) not in self._found:
            change = transition(self._modes[old], self._modes[new])
            bounds = transition_bounds(change, self._methods)
            chains = chain_results(change.load, bounds)
            self._found[old, new] = self._result(change, bounds, chains), bounds, chains
        return self._found[old, new]

    def _result(self, change: Transition, bounds: Bounds, chains: Sequence[ChainResult]) -> TransitionResult:
        misses = misses_across(change, self._bounds[change.old.name], self._bounds[change.new.name], bounds)
        open_tasks = [
            index
            for index, one in bounds.items()
            if change.presence[index] is not Presence.REMOVED and not settled(one, misses.get(index))
        ]
        witnesses = transition_witnesses(self._system, change, open_tasks)
        tasks = tuple(
            self._task(change, index, one, witnesses.get(index), misses.get(index))
            for index, one in sorted(bounds.items())
        )
        kept = {change.load.setup.tasks[index].name for index in change.of(Presence.KEPT)}
        sensors = set(change.load.setup.sensors)
        lasting = tuple(one for one in chains if all(name in kept or name in sensors for name in one.path))
        waits = wait_results(change.load, bounds)
        limited = [*(one.verdict for one in waits), *(one.verdict for one in lasting if one.limits_ns)]
        verdict = worst_verdict([*(one.verdict for one in tasks), *limited])
        return TransitionResult(change.old.name, change.new.name, verdict, tasks, lasting, waits)

    def _task(
        self, change: Transition, index: int, one: TaskBound, witness: Witness | None, misses: Misses | None
    ) -> TransitionTask:
        presence = change.presence[index]
        if misses is None:
            verdict, reason = _verdict(presence, one, witness)
        else:
            verdict, reason = weakly_hard_verdict(misses, witness)
            misses = replace(misses, verdict=verdict)
        return TransitionTask(
            one.task.name,
            presence,
            one.task.deadline_ns,
            one.bound,
            _value_ns(self._bounds[change.old.name].get(index)),
            _value_ns(self._bounds[change.new.name].get(index)),
            verdict,
            reason,
            witness,
            misses,
        )


def _value_ns(one: TaskBound | None) -> int | None:
    return None if one is None or one.bound is None else one.bound.value_ns


def _verdict(presence: Presence, one: TaskBound, witness: Witness | None) -> tuple[Verdict, str]:
    if presence is Presence.REMOVED:
        return Verdict.SCHEDULABLE, "its jobs are aborted at the change"
    if one.bound is not None and one.bound.value_ns <= one.task.deadline_ns:
        return Verdict.SCHEDULABLE, "the bound is within the deadline"
    if witness is not None:
        return Verdict.UNSCHEDULABLE, f"a legal run misses: {witness.how}"
    if one.bound is None:
        return Verdict.INCONCLUSIVE, one.reason
    over = format_ns(one.bound.value_ns - one.task.deadline_ns)
    return Verdict.INCONCLUSIVE, f"the bound exceeds the deadline by {over}, and no run that misses was found"
