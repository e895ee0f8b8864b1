"""What gives way where the analysis objects to a takeover.

In this order: the place of a task that something else on its processor makes late; QM tasks there; the usual variant of
a task there, for a cheaper one; in the end tasks that are only welcome. While the takeover comes into force, kept
messages of other sensors than cameras give way before all that; those of cameras, and the additional arrivals of timed
tasks, before cheaper variants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rt_sched.analysis.faults.result import TakeoverTask
from rt_sched.analysis.faults.takeovers import TakeoverResult
from rt_sched.model import Criticality, FaultKind, SensorKind
from rt_sched.planner.failover.ground import Ground
from rt_sched.planner.failover.losses import Losses, targets
from rt_sched.planner.failover.parts import ORDER
from rt_sched.planner.failover.placing import Choices, Placing, Proposal


class GivingWay:
    """Changes `choices` for one set of losses, one step at a time."""

    def __init__(self, ground: Ground, losses: Losses, placing: Placing, choices: Choices) -> None:
        self._ground, self._placing, self._choices = ground, placing, choices
        self._gone = targets(losses, FaultKind.DEVICE)

    def stays(self, task: str) -> bool:
        """Whether a task goes on where it is."""
        on_lost = self._ground.device_of(self._ground.home[task]) in self._gone
        return not on_lost and task not in self._choices.dropped

    def next(self, results: Sequence[TakeoverResult], proposal: Proposal) -> bool:
        """Change the choices so that the next proposal has less to object to; False when nothing is left to change."""
        tasks = [task for result in results for task in result.tasks]
        late = next((task for task in tasks if task.late), None)
        if late is not None:
            return self._relieve(late, proposal) or self._cheaper_at(late, proposal) or self._leave_welcome(proposal)
        crossing = next((task for task in tasks if task.late_across), None)
        if crossing is not None:
            return (
                self._fewer_additional(crossing.task, results, counted=False)
                or self._relieve(crossing, proposal)
                or self._fewer_additional(crossing.task, results, counted=True)
                or self._cheaper_at(crossing, proposal)
                or self._leave_welcome(proposal)
            )
        needed = [name for name in self._placing.needed if name not in self._choices.left]
        unplaced = next((name for name in proposal.unplaced if name in needed), None)
        if unplaced is not None and unplaced not in self._choices.first:
            self._choices.first.append(unplaced)
            return True
        if unplaced is not None:
            return self._cheaper_anywhere(unplaced)
        slow = next((result.slowest for result in results if result.problems), None)
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
        if self._ground.tasks[task].criticality is not Criticality.QM or not self.stays(task):
            return False
        self._choices.dropped.append(task)
        self._choices.not_again.clear()
        return True

    def _on(self, late: TakeoverTask, proposal: Proposal) -> tuple[int, list[str], list[str]]:
        """The processor on which a task is late, what comes there and what stays there, least important first."""
        plan = self._ground.plan
        number = next(n for n, one in enumerate(plan.processors) if one.name == late.processor)
        moved = [name for name, place in proposal.moves.items() if place.processor == number]
        stay = [task.name for task in self._ground.residents[number] if self.stays(task.name)]
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
        kinds = {task.name for here in self._ground.residents for task in here if self.stays(task.name)}
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

    def _fewer_additional(self, late: str, results: Sequence[TakeoverResult], *, counted: bool) -> bool:
        """One additional arrival less of those that delay a task; `counted`: also where a limit on recovery applies."""
        takeover = results[0].takeover
        ground = self._ground
        kinds = {sensor.name: sensor.kind for sensor in ground.system.sensors}

        def is_counted(head: str) -> bool:
            reads = [kinds[source] for source in ground.activating(head) if source in kinds]
            return not reads or SensorKind.CAMERA in reads

        def dispensable(head: str) -> tuple[bool, int]:
            return is_counted(head), -ground.tasks[head].separation_ns

        processor_of = {task.task: task.processor for result in results for task in result.tasks}
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
        return task in self._placing.needed, ORDER.index(one.criticality), -self._ground.index_of[task]
