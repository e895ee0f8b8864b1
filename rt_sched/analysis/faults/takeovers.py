"""The verdict on a takeover: what goes on under it, what it does on its way, and how long until it has recovered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rt_sched import model
from rt_sched.analysis.chains.bounds import chain_results
from rt_sched.analysis.faults.handling import brings_command
from rt_sched.analysis.faults.losses import Loss, passes
from rt_sched.analysis.faults.result import Detection, TakeoverTask
from rt_sched.analysis.faults.takeover_crossing import Crossing
from rt_sched.analysis.faults.takeover_detection import decision_ns, detection_of_losses
from rt_sched.analysis.faults.takeover_loads import TakeoverLoads, faults_of
from rt_sched.analysis.faults.takeover_recovery import Recoveries, Recovery
from rt_sched.analysis.faults.takeover_steps import joined, late_arrivals, new_losses
from rt_sched.analysis.faults.transitions.loads import Presence, Transition
from rt_sched.analysis.faults.transitions.methods import split_methods
from rt_sched.analysis.faults.waits import wait_problems
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.methods import METHODS, Method
from rt_sched.analysis.result import Bound, ChainResult, Verdict
from rt_sched.analysis.system.engine import Known, TaskBound, mode_bounds
from rt_sched.units import format_ns


@dataclass(frozen=True, slots=True)
class TakeoverResult:
    """A takeover in one mode.

    `lost`: tasks without any more jobs, with the reason. `chains`: that still bring something new; `chains_across`: the
    same with bounds for what is read from the switch on, while the takeover comes into force; these have no limits.
    `crossing`: what it was found from. `problems`: why the verdict is not SCHEDULABLE.
    """

    takeover: model.Takeover
    mode: str
    detection: Detection
    decision_ns: int
    tasks: tuple[TakeoverTask, ...]
    chains: tuple[ChainResult, ...]
    chains_across: tuple[ChainResult, ...]
    recoveries: tuple[Recovery, ...]
    lost: tuple[tuple[str, str], ...]
    limit_ns: int | None
    crossing: Crossing
    problems: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        return Verdict.INCONCLUSIVE if self.problems else Verdict.SCHEDULABLE

    @property
    def slowest(self) -> Recovery | None:
        """Of the paths to which the limit applies, the last to recover; one without a bound before all others."""
        counted = [one for one in self.recoveries if one.counted]
        unknown = next((one for one in counted if one.terms is None), None)
        return unknown or max(counted, key=lambda one: one.value_ns or 0, default=None)

    @property
    def recovered_ns(self) -> int | None:
        """From the loss until all that is counted has recovered; None where no bound is known."""
        slowest = self.slowest
        after_ns = 0 if slowest is None else slowest.value_ns
        return None if after_ns is None else self.detection.value_ns + self.decision_ns + after_ns


class Takeovers:
    """Judges takeovers of one system and plan, of which `modes` are.

    `verdicts`: by mode and task, those of the modes themselves. `known`: bounds of processors that were met before.
    """

    def __init__(
        self,
        system: model.System,
        modes: Mapping[str, ModeLoad],
        bounds: Mapping[str, Mapping[int, TaskBound]],
        verdicts: Mapping[tuple[str, str], Verdict],
        methods: Sequence[Method] = METHODS,
        known: Known | None = None,
    ) -> None:
        self._system, self._modes, self._bounds, self._verdicts = system, modes, bounds, verdicts
        self._methods, self._known = methods, {} if known is None else known
        self._loads = TakeoverLoads(system)

    def crossing(self, mode: str, takeover: model.Takeover) -> Crossing:
        """All bounds around a takeover. Raises AnalysisNotApplicable for what is not analysed."""
        nominal = self._modes[mode]
        _, lost_before = self._loads.before(nominal, takeover)
        after, lost_after = self._loads.after(nominal, takeover)
        change = self._loads.across(nominal, takeover)
        bounds = self._across(mode, change)
        late = late_arrivals(self._system, takeover, self._bounds[mode], bounds)
        if late is not None:
            change = self._loads.across(nominal, takeover, late)
            bounds = self._across(mode, change)
        steady = mode_bounds(after, self._methods, self._known)
        return Crossing(takeover, after, change.load, lost_before, lost_after, steady, bounds)

    def crossing_on(self, mode: str, first: model.Takeover, second: model.Takeover) -> Crossing:
        """All bounds around a takeover that follows on `first`, which is in force. Raises as `crossing` does."""
        nominal, before = self._modes[mode], self.crossing(mode, first)
        together = joined(nominal, first, second)
        change = self._loads.across_both(nominal, first, second, together)
        after, lost_after = self._loads.after(nominal, second)
        _, cut_at_home = self._loads.before(nominal, second)
        _, cut_where_put = self._loads.after(nominal, replace(first, losses=second.losses))
        bounds = mode_bounds(change.load, self._methods, self._known)
        until = {index: _larger(one, before.bounds.get(index)) for index, one in self._bounds[mode].items()}
        late = late_arrivals(self._system, together, until, bounds)
        if late is not None:
            change = self._loads.across_both(nominal, first, second, together, late)
            bounds = mode_bounds(change.load, self._methods, self._known)
        bounds = {
            index: _larger(one, before.bounds.get(index)) if change.presence[index] is Presence.KEPT else one
            for index, one in bounds.items()
        }
        lost_before = replace(cut_at_home, dead=cut_at_home.dead | cut_where_put.dead)
        steady = mode_bounds(after, self._methods, self._known)
        return Crossing(second, after, change.load, lost_before, lost_after, steady, bounds)

    def judge_on(self, mode: str, first: model.Takeover, second: model.Takeover) -> TakeoverResult:
        """The verdict on a takeover that follows on `first` when more is lost. Raises as `crossing` does.

        Its times count from the further loss on.
        """
        more = new_losses(self._system, first, second)
        return self.judge(mode, second, self.crossing_on(mode, first, second), more)

    def judge(
        self,
        mode: str,
        takeover: model.Takeover,
        crossing: Crossing | None = None,
        noticed: tuple[str, ...] | None = None,
    ) -> TakeoverResult:
        """The verdict on a takeover in a mode. `noticed`: of its losses those that lead to it, by default all.

        Raises as `crossing` does.
        """
        one = crossing or self.crossing(mode, takeover)
        faults = faults_of(takeover.losses if noticed is None else noticed)
        tasks = tuple(self._task(mode, one, index) for index in sorted(one.steady))
        chains = self._chains(one, one.steady)
        detection, decided_ns = detection_of_losses(self._system, faults), decision_ns(self._system)
        recoveries = tuple(Recoveries(one).found())
        safety = self._system.safety
        counted = any(path.counted for path in recoveries)
        limit_ns = safety.recovery_limit_ns if safety is not None and counted else None
        problems = [
            *(f"task {task.task}: {task.late}" for task in tasks if task.late),
            *(f"task {task.task} at the takeover: {task.late_across}" for task in tasks if task.late_across),
            *(f"chain {c.chain}: {c.reason}" for c in chains if c.limits_ns and c.verdict is not Verdict.SCHEDULABLE),
            *self._recovery_problems(recoveries, limit_ns, detection.value_ns + decided_ns),
            *self._command_problems(one, chains),
            *wait_problems(self._modes[mode], one, faults_of(takeover.losses)),
        ]
        rows = one.after.setup.tasks
        lost = tuple((rows[index].name, why) for index, why in sorted(one.lost_after.dead.items()))
        return TakeoverResult(
            takeover,
            mode,
            detection,
            decided_ns,
            tasks,
            chains,
            self._chains(one, one.bounds),
            recoveries,
            lost,
            limit_ns,
            one,
            tuple(problems),
        )

    def _chains(self, one: Crossing, bounds: Mapping[int, TaskBound]) -> tuple[ChainResult, ...]:
        """The chains that still bring something new, with these bounds of tasks.

        What is read from the switch on goes its way over the placement of the takeover, in jobs that arrive behind the
        switch. Their responses, and the delays of links, are those while it comes into force; grids of timed tasks
        have, with one additional arrival, no larger gap than without.
        """
        found = chain_results(one.after, bounds)
        return tuple(chain for chain in found if passes(one.after, one.lost_after, chain.path))

    def _across(self, mode: str, change: Transition) -> dict[int, TaskBound]:
        """Bounds while the takeover comes into force, never below those before it where a task goes on."""
        if Presence.REMOVED in change.presence.values():
            found = mode_bounds(change.load, (*self._methods, *split_methods(change)))
        else:
            found = mode_bounds(change.load, self._methods, self._known)
        before = self._bounds[mode]
        return {
            index: _larger(one, before.get(index)) if change.presence[index] is Presence.KEPT else one
            for index, one in found.items()
        }

    def _task(self, mode: str, one: Crossing, index: int) -> TakeoverTask:
        steady, across = one.steady[index], one.bounds[index]
        row = one.after.setup.tasks[index]
        moved = any(placement.task == row.name for placement in one.takeover.moves)
        usual = None if moved else self._bounds[mode].get(index)
        return TakeoverTask(
            row.name,
            one.after.plan.processors[row.processor].name,
            row.deadline_ns,
            moved,
            steady.bound,
            across.bound,
            self._late(mode, steady, usual),
            self._late(mode, across, usual),
        )

    def _late(self, mode: str, one: TaskBound, usual: TaskBound | None) -> str:
        """Why a task may be late; what is in time without the takeover is so with a bound that is no longer."""
        if one.bound is not None and one.bound.value_ns <= one.task.deadline_ns:
            return ""
        in_time = self._verdicts.get((mode, one.task.name)) is Verdict.SCHEDULABLE
        if in_time and usual is not None and usual.task == one.task and _not_longer(one.bound, usual.bound):
            return ""
        if one.bound is None:
            return one.reason
        return f"the bound exceeds the deadline by {format_ns(one.bound.value_ns - one.task.deadline_ns)}"

    def _recovery_problems(self, recoveries: Sequence[Recovery], limit_ns: int | None, noticed_ns: int) -> list[str]:
        problems = []
        for path in recoveries:
            if limit_ns is None or not path.counted:
                continue
            if path.value_ns is None:
                problems.append(f"path {path.origin} -> {path.until} has no bound on its recovery: {path.reason}")
            elif noticed_ns + path.value_ns > limit_ns:
                over = format_ns(noticed_ns + path.value_ns - limit_ns)
                problems.append(
                    f"path {path.origin} -> {path.until} recovers {over} after the limit of {format_ns(limit_ns)}"
                )
        return problems

    def _command_problems(self, one: Crossing, chains: Sequence[ChainResult]) -> list[str]:
        """With a safety concept some chain has to bring commands to its arbiter."""
        safety = self._system.safety
        if safety is None:
            return []
        nothing = Loss(frozenset(), frozenset(), frozenset(), {}, {})
        nominal = self._modes[one.after.name]
        usual = [c for c in self._system.chains if brings_command(safety, c.path) and passes(nominal, nothing, c.path)]
        if not usual or any(brings_command(safety, chain.path) for chain in chains):
            return []
        names = ", ".join(chain.name for chain in usual)
        return [f"no chain to {safety.arbiter} is left that could command; lost: {names}"]


def _larger(one: TaskBound, other: TaskBound | None) -> TaskBound:
    if other is None or one.bound is None:
        return one
    return other if other.bound is None or other.bound.value_ns > one.bound.value_ns else one


def _not_longer(one: Bound | None, other: Bound | None) -> bool:
    return one is not None and other is not None and one.value_ns <= other.value_ns
