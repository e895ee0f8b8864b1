"""The search for one takeover: a proposal, what the analysis says of it, and what gives way where it is too much.

What gives way, in this order: the place of a task that something else on its processor makes late; QM tasks there;
the usual variant of a task there, for a cheaper one; in the end tasks that are only welcome. While the takeover comes
into force, kept messages of other sensors than cameras give way before all that; those of cameras, and the additional
arrivals of timed tasks, before cheaper variants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rt_sched.analysis.faults.result import TakeoverTask
from rt_sched.analysis.faults.takeover_loads import faults_of
from rt_sched.analysis.faults.takeover_recovery import Recoveries, sampling_tasks
from rt_sched.analysis.faults.takeovers import TakeoverResult
from rt_sched.analysis.result import Verdict, worst_verdict
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.lowering.losses import lost_sensors
from rt_sched.model import Criticality, FaultKind, SensorKind, Takeover
from rt_sched.planner.failover.ground import Ground
from rt_sched.planner.failover.losses import Losses, targets
from rt_sched.planner.failover.memory import Memory
from rt_sched.planner.failover.placing import Choices, Placing, Proposal
from rt_sched.planner.failover.weights import fusion_weights

#: Proposals that are analysed for one set of losses.
MOST_PROPOSALS = 24
_ORDER = (Criticality.QM, Criticality.A, Criticality.B, Criticality.C, Criticality.D)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found for one set of losses.

    `takeover`: None where none goes in any mode, for the `reason`. `results`: its analysis in every mode. `unmoved`:
    lost tasks that are needed, but go nowhere, with the reason.
    """

    losses: Losses
    takeover: Takeover | None
    results: tuple[TakeoverResult, ...]
    unmoved: tuple[tuple[str, str], ...]
    reason: str

    @property
    def verdict(self) -> Verdict:
        """SCHEDULABLE: everything that is needed goes on, in time, and recovers within the limit."""
        if self.takeover is None or self.unmoved:
            return Verdict.INCONCLUSIVE
        return worst_verdict([one.verdict for one in self.results])


class Search:
    """Searches a takeover for one set of losses."""

    def __init__(self, ground: Ground, losses: Losses, memory: Memory) -> None:
        self._ground, self._losses = ground, losses
        self._placing = Placing(ground, losses, memory)
        self._choices = Choices()

    def run(self) -> Outcome:
        """The first takeover that the analysis accepts, else the one with the least to object to."""
        safety = self._ground.system.safety
        if safety is not None and self._is_gone(safety.arbiter):
            return self._nothing(f"the device of {safety.arbiter} is lost: nothing commands, and nothing watches")
        best: Outcome | None = None
        for _ in range(MOST_PROPOSALS):
            proposal = self._placing.propose(self._choices)
            try:
                found = self._analysed(proposal)
            except AnalysisNotApplicable as refusal:
                return best or self._nothing(str(refusal))
            if best is None or _objections(found) < _objections(best):
                best = found
            if found.verdict is Verdict.SCHEDULABLE or not self._give_way(found, proposal):
                break
        return best if best is not None and _goes(best) else self._nothing("" if best is None else best.reason, best)

    def _is_gone(self, task: str) -> bool:
        return self._ground.device_of(self._ground.home[task]) in targets(self._losses, FaultKind.DEVICE)

    def _nothing(self, reason: str, best: Outcome | None = None) -> Outcome:
        unmoved = () if best is None else best.unmoved
        return Outcome(self._losses, None, () if best is None else best.results, unmoved, reason)

    def _analysed(self, proposal: Proposal) -> Outcome:
        takeover = self._takeover(proposal)
        judge, modes = self._ground.judge, self._ground.modes
        crossings = {mode: judge.crossing(mode, takeover) for mode in modes}
        delays: dict[str, int] = {}
        for name, _ in takeover.at_once:
            ready = [Recoveries(one, delays).ready_ns(name) for one in crossings.values()]
            if all(one is not None for one in ready):
                delays[name] = max(one or 0 for one in ready)
            else:
                self._choices.not_again.add(name)
        if len(delays) < len(takeover.at_once):
            return self._analysed(proposal)
        takeover = replace(takeover, at_once=tuple(delays.items()))
        results = tuple(judge.judge(mode, takeover, replace(one, takeover=takeover)) for mode, one in crossings.items())
        unmoved = tuple((name, why) for name, why in proposal.unplaced.items() if name in self._placing.needed)
        problems = [f"task {name} goes nowhere: {why}" for name, why in unmoved]
        problems += [problem for one in results for problem in one.problems]
        reason = "; ".join(dict.fromkeys(problems)) or "all limits are kept"
        return Outcome(self._losses, takeover, results, unmoved, reason)

    def _takeover(self, proposal: Proposal) -> Takeover:
        ground = self._ground
        moved = proposal.moves
        order = [name for name in ground.tasks if name in moved]
        redone = [
            name
            for name in order
            if not ground.tasks[name].is_timed
            and name in self._placing.needed
            and name not in self._choices.not_again
            and any(source not in moved for source in ground.activating(name))
        ]
        variants = [
            (name, chosen) for name, chosen in self._choices.variants.items() if name in moved or self._stays(name)
        ]
        return Takeover(
            self._losses,
            tuple(moved[name] for name in order),
            tuple(sorted(self._choices.dropped, key=ground.index_of.__getitem__)),
            tuple(redone),
            tuple((name, 0) for name in self._sampling(order)),
            tuple(sorted(variants, key=lambda pair: ground.index_of[pair[0]])),
            fusion_weights(ground.system, self._silent()),
        )

    def _stays(self, task: str) -> bool:
        return not self._is_gone(task) and task not in self._choices.dropped

    def _silent(self) -> list[str]:
        """Sensors that are lost for good: by themselves, or with all their devices."""
        return list(lost_sensors(self._ground.system, faults_of(self._losses)))

    def _sampling(self, moved: Sequence[str]) -> list[str]:
        """Timed tasks that put together what changes: behind lost and restored sensors, and those that are moved."""
        ground = self._ground
        restored = {source for name in moved for source in ground.feeders[name] if source not in ground.tasks}
        found = {
            name for mode in ground.modes.values() for name in sampling_tasks(mode, restored | set(self._silent()))
        }
        safety = ground.system.safety
        found |= {n for n in moved if ground.tasks[n].is_timed and (safety is None or n != safety.arbiter)}
        alive = [name for name in found if name in moved or self._stays(name)]
        return sorted((n for n in alive if n not in self._choices.not_again), key=ground.index_of.__getitem__)

    def _give_way(self, found: Outcome, proposal: Proposal) -> bool:
        """Change the choices so that the next proposal has less to object to; False when nothing is left to change."""
        tasks = [task for result in found.results for task in result.tasks]
        late = next((task for task in tasks if task.late), None)
        if late is not None:
            return self._relieve(late, proposal) or self._cheaper_at(late, proposal) or self._leave_welcome(proposal)
        crossing = next((task for task in tasks if task.late_across), None)
        if crossing is not None:
            return (
                self._fewer_additional(crossing.task, found, counted=False)
                or self._relieve(crossing, proposal)
                or self._fewer_additional(crossing.task, found, counted=True)
                or self._cheaper_at(crossing, proposal)
                or self._leave_welcome(proposal)
            )
        unplaced = next((name for name in proposal.unplaced if name in self._placing.needed), None)
        if unplaced is not None and unplaced not in self._choices.first:
            self._choices.first.append(unplaced)
            return True
        if unplaced is not None:
            return self._cheaper_anywhere(unplaced)
        slow = next((result.slowest for result in found.results if result.problems), None)
        return slow is not None and self._hurry(slow.path, tasks)

    def _hurry(self, path: Sequence[str], tasks: Sequence[TakeoverTask]) -> bool:
        """Less work beside a path that recovers too late, or on it."""
        where = {task.task: task.processor for task in tasks}
        beside = {where[name] for name in path if name in where}
        for task in tasks:
            if task.processor in beside and not task.moved and self._drop(task.task):
                return True
        return any(self._cheaper(name) for name in path if name in self._ground.tasks)

    def _drop(self, task: str) -> bool:
        """Stop a task without integrity level; kept messages may have room then."""
        if self._ground.tasks[task].criticality is not Criticality.QM or not self._stays(task):
            return False
        self._choices.dropped.append(task)
        self._choices.not_again.clear()
        return True

    def _on(self, late: TakeoverTask, proposal: Proposal) -> tuple[int, list[str], list[str]]:
        """The processor on which a task is late, what comes there and what stays there, least important first."""
        plan = self._ground.plan
        number = next(n for n, one in enumerate(plan.processors) if one.name == late.processor)
        moved = [name for name, place in proposal.moves.items() if place.processor == number]
        stay = [task.name for task in self._ground.residents[number] if self._stays(task.name)]
        return number, sorted(moved, key=self._importance), sorted(stay, key=self._importance)

    def _relieve(self, late: TakeoverTask, proposal: Proposal) -> bool:
        """Less work for the processor on which a task is late: another place for what comes, then fewer QM tasks."""
        number, moved, stay = self._on(late, proposal)
        for name in moved:
            if self._has_another_place(name, number, proposal):
                self._choices.barred.add((name, number))
                return True
        return any(self._drop(name) for name in stay)

    def _cheaper_at(self, late: TakeoverTask, proposal: Proposal) -> bool:
        """A cheaper variant of something on the processor on which a task is late."""
        _, moved, stay = self._on(late, proposal)
        return any(self._cheaper(name) for name in sorted((*moved, *stay), key=self._importance))

    def _has_another_place(self, task: str, processor: int, proposal: Proposal) -> bool:
        """Whether a proposal without this place still moves everything that this one does."""
        barred = {*self._choices.barred, (task, processor)}
        other = self._placing.propose(replace(self._choices, barred=barred))
        return set(other.unplaced) <= set(proposal.unplaced)

    def _cheaper(self, task: str) -> bool:
        """The next cheaper variant of a task, where there is one."""
        names = [variant.name for variant in self._ground.tasks[task].variants if not self._placing.is_starved(task)]
        now = self._choices.variants.get(task)
        place = 0 if now is None else names.index(now) + 1
        if place >= len(names):
            return False
        self._choices.variants[task] = names[place]
        self._choices.not_again.clear()
        return True

    def _cheaper_anywhere(self, unplaced: str) -> bool:
        """Room for a task that found no place: its own cheaper variant, QM tasks, variants of less important tasks."""
        if self._cheaper(unplaced):
            return True
        kinds = {task.name for here in self._ground.residents for task in here if self._stays(task.name)}
        for name in sorted(kinds, key=self._importance):
            if self._shares_kind(name, unplaced) and self._drop(name):
                return True
        return any(self._cheaper(n) for n in sorted(kinds, key=self._importance) if self._shares_kind(n, unplaced))

    def _shares_kind(self, task: str, other: str) -> bool:
        plan = self._ground.plan
        place = plan.processors[self._ground.home[task]]
        return self._ground.element_of(place).kind is self._ground.elements[self._ground.tasks[other].pe].kind

    def _leave_welcome(self, proposal: Proposal) -> bool:
        """Give up one task that does not have to go on."""
        for name in reversed(self._placing.welcome):
            if name in proposal.moves:
                self._choices.left[name] = "its place is needed"
                return True
        return False

    def _fewer_additional(self, late: str, found: Outcome, *, counted: bool) -> bool:
        """One additional arrival less of those that delay a task; `counted`: also where a limit on recovery applies."""
        takeover = found.takeover
        if takeover is None:
            return False
        ground = self._ground
        kinds = {sensor.name: sensor.kind for sensor in ground.system.sensors}

        def is_counted(head: str) -> bool:
            reads = [kinds[source] for source in ground.activating(head) if source in kinds]
            return not reads or SensorKind.CAMERA in reads

        def dispensable(head: str) -> tuple[bool, int]:
            return is_counted(head), -ground.tasks[head].separation_ns

        processor_of = {task.task: task.processor for result in found.results for task in result.tasks}
        beside = {name for name, where in processor_of.items() if where == processor_of.get(late)}
        for name in sorted(takeover.redone, key=dispensable):
            if ground.sets_off(name) & beside and (counted or not is_counted(name)):
                self._choices.not_again.add(name)
                return True
        for name, _ in takeover.at_once if counted else ():
            if ground.sets_off(name) & beside:
                self._choices.not_again.add(name)
                return True
        return False

    def _importance(self, task: str) -> tuple[bool, int, int]:
        """What gives way first comes first."""
        one = self._ground.tasks[task]
        return task in self._placing.needed, _ORDER.index(one.criticality), -self._ground.index_of[task]


def _objections(found: Outcome) -> tuple[int, int, int]:
    late = sum(bool(task.late) for result in found.results for task in result.tasks)
    return late, len(found.unmoved), sum(len(result.problems) for result in found.results)


def _goes(found: Outcome) -> bool:
    """Whether everything is in time once the takeover is in force."""
    return not any(task.late for result in found.results for task in result.tasks)
