"""The loads of a system under a takeover: once it is in force, and while it comes into force.

**In force.** Moved tasks run where the takeover puts them, dropped ones are gone, variants take their own time. Moved
timed tasks keep their cycle, but nothing is taken for granted of its phase: they count as sporadic.

**While it comes into force.** Let the switch be at s. On a processor that gains tasks a run is a legal run of its
residents and of what comes to it, for ever: residents arrive as before; what comes arrives from s on only, with the
messages that it would get anyway, and at s once more with a kept message; a timed task arrives once more at its
additional instant. So in any interval no more jobs arrive than the usual streams allow, and one more of every task with
an additional arrival. Every bound for sporadic arrivals holds for these streams with one more, of a single arrival,
whose phase towards the others is not known; its outputs are one more stream of what they activate, and so on. Tasks
that are dropped here, and residents that go on cheaper, count with all that they need before the switch; and so does
what the loss stops, because what had come before it may still be at work. A processor
that only loses tasks has no more to do than before, so that its bounds before the switch hold across it.

Source: Tindell, Burns, Wellings 1992 (a run across a change as a run of the tasks of both sides); Quinton, Hanke, Ernst
2012 (rare activations beside the usual ones).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from rt_sched import model
from rt_sched.analysis.faults.losses import Loss, loss_of_faults, surviving
from rt_sched.analysis.faults.takeover_tasks import under_takeover, with_parts
from rt_sched.analysis.faults.transitions.loads import Presence, Transition
from rt_sched.analysis.loads.frequencies import at_frequencies_of
from rt_sched.analysis.loads.load import LoadTask
from rt_sched.analysis.loads.resolve import ModeLoad, loads_of, setups_of
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.lowering.machine_input import Role
from rt_sched.trace.setup import EdgeKind, EdgeRow, TaskRow
from rt_sched.units import NS_PER_S

#: Distance of the arrivals of a stream that arrives only once: no busy period comes near it.
ONCE_NS = 10**15


def faults_of(losses: tuple[str, ...]) -> tuple[model.Fault, ...]:
    """What a takeover answers, as faults; raises ValueError for a kind that does not exist."""
    pairs = (one.partition(":") for one in losses)
    return tuple(model.Fault(model.FaultKind(kind), target, 0) for kind, _, target in pairs)


class TakeoverLoads:
    """The modes of one system under takeovers. `system`: with the frequencies of the start of a run."""

    def __init__(self, system: model.System) -> None:
        self._system = system
        # The steady state and the switch to it are looked at one after the other.
        self._last: tuple[object, ModeLoad] | None = None

    def before(self, mode: ModeLoad, takeover: model.Takeover) -> tuple[ModeLoad, Loss]:
        """What is left of a mode from the loss on until the takeover is in force."""
        loss = loss_of_faults(mode, faults_of(takeover.losses))
        return surviving(mode, loss), loss

    def after(self, mode: ModeLoad, takeover: model.Takeover) -> tuple[ModeLoad, Loss]:
        """The mode under a takeover in force, without what is lost for all that. Raises AnalysisNotApplicable."""
        changed = self._changed(mode, takeover)
        loss = loss_of_faults(changed, with_parts(changed.system, faults_of(takeover.losses)))
        return surviving(changed, loss), loss

    def across(self, mode: ModeLoad, takeover: model.Takeover, *late: model.Takeover) -> Transition:
        """The change from what is left to the takeover in force, with additional arrivals. Raises as `after` does.

        `late`: further additional arrivals, as of takeovers; see `takeover_steps.late_arrivals`.
        """
        moved = {placement.task for placement in takeover.moves}
        heaviest = replace(takeover, dropped=(), variants=tuple(one for one in takeover.variants if one[0] in moved))
        old, _ = self.before(mode, takeover)
        together = self._changed(mode, heaviest)
        self._refuse_exchanges(old, takeover)
        load = with_additional_arrivals(together, takeover, *late)
        presence = {}
        for index, row in enumerate(load.setup.tasks):
            if load.active[index]:
                gone = row.name in takeover.dropped
                presence[index] = Presence.REMOVED if gone else Presence.ADDED if row.name in moved else Presence.KEPT
        added = {index: 0 for index, one in presence.items() if one is Presence.ADDED}
        return Transition(old, load, load, presence, added)

    def across_both(
        self,
        mode: ModeLoad,
        first: model.Takeover,
        second: model.Takeover,
        together: model.Takeover,
        *late: model.Takeover,
    ) -> Transition:
        """The change from one takeover to the next. `together`: all that runs meanwhile. `late`: as of `across`."""
        old, _ = self.after(mode, first)
        load = with_additional_arrivals(self._changed(mode, together), second, first, *late)
        pairs = zip(with_moves(mode.plan, first).placements, with_moves(mode.plan, second).placements, strict=True)
        presence = {
            index: Presence.KEPT if before == after else Presence.ADDED
            for index, (before, after) in enumerate(pairs)
            if load.active[index]
        }
        return Transition(old, load, load, presence, {i: 0 for i, one in presence.items() if one is Presence.ADDED})

    def _refuse_exchanges(self, old: ModeLoad, takeover: model.Takeover) -> None:
        """Raise where a processor that goes on loses tasks and gains others at one time."""
        gains = {placement.processor for placement in takeover.moves}
        for placement in takeover.moves:
            index = next(i for i, row in enumerate(old.setup.tasks) if row.name == placement.task)
            if old.active[index] and old.setup.tasks[index].processor in gains:
                name = old.plan.processors[old.setup.tasks[index].processor].name
                raise AnalysisNotApplicable(
                    f"{placement.task} leaves {name}, which goes on, while other tasks come there"
                )

    def _changed(self, mode: ModeLoad, takeover: model.Takeover) -> ModeLoad:
        """The mode with everything where the takeover puts it, lost or not."""
        if not takeover.moves and not takeover.variants and not takeover.dropped:
            return mode
        key = mode.name, takeover.moves, takeover.variants, takeover.dropped
        if self._last is None or self._last[0] != key:
            self._last = key, self._made(mode, takeover)
        return self._last[1]

    def _made(self, mode: ModeLoad, takeover: model.Takeover) -> ModeLoad:
        system, plan = under_takeover(mode.system, mode.plan, takeover), with_moves(mode.plan, takeover)
        longest, shortest = setups_of(system, plan)
        if self._system.modes:
            start = setups_of(under_takeover(self._system, mode.plan, takeover), plan)
            longest, shortest = (
                at_frequencies_of(first, present) for first, present in zip(start, (longest, shortest), strict=True)
            )
        dropped = frozenset(takeover.dropped)
        active = tuple(one and row.name not in dropped for one, row in zip(mode.active, longest.tasks, strict=True))
        return replace(loads_of(mode.name, system, plan, longest, shortest, active), slower=mode.slower)


def _with(rows: tuple[TaskRow, ...], changed: Mapping[int, TaskRow]) -> tuple[TaskRow, ...]:
    return tuple(changed.get(index, row) for index, row in enumerate(rows))


def with_moves(plan: model.Plan, takeover: model.Takeover) -> model.Plan:
    """The placements under a takeover."""
    places = {placement.task: placement for placement in takeover.moves}
    return replace(plan, placements=tuple(places.get(one.task, one) for one in plan.placements))


def with_additional_arrivals(mode: ModeLoad, *takeovers: model.Takeover) -> ModeLoad:
    """The mode in which every task of `redone` and `at_once` may arrive once more for each takeover, at any time.

    Each such arrival is the only message of a further sensor. A timed task is then activated by those and by one
    that stands for its cycle.
    """
    index_of = {row.name: index for index, row in enumerate(mode.setup.tasks) if mode.active[index]}
    redone = [index_of[name] for one in takeovers for name in one.redone if name in index_of]
    at_once = [index_of[name] for one in takeovers for name, _ in one.at_once if name in index_of]
    # A kept message may find other partners than its own, so every message may be the last of a pair.
    edges = [
        replace(edge, role=Role.EACH) if edge.role is Role.PAIRED and edge.target in redone else edge
        for edge in mode.setup.edges
    ]
    sensors: list[model.Sensor] = []
    names = mode.setup.sensors

    def activate(index: int, what: str, distance_ns: int) -> None:
        what += ", again" * sum(one.name.partition(", again")[0] == what for one in sensors)
        sensors.append(model.Sensor(what, model.SensorKind.CAMERA, Fraction(NS_PER_S, distance_ns), (), ()))
        place = len(names) + len(sensors) - 1
        edges.append(EdgeRow(index, what, EdgeKind.QUEUE, Role.EACH, sensor=place))

    for index in redone:
        activate(index, f"kept message of {mode.setup.tasks[index].name}", ONCE_NS)
    for index in dict.fromkeys(at_once):
        row = mode.setup.tasks[index]
        activate(index, f"cycle of {row.name}", row.separation_ns or 1)
    for index in at_once:
        activate(index, f"additional arrival of {mode.setup.tasks[index].name}", ONCE_NS)
    rows = {index: replace(mode.setup.tasks[index], rate_hz=None) for index in at_once}
    setup = replace(
        mode.setup,
        sensors=(*names, *(sensor.name for sensor in sensors)),
        edges=tuple(edges),
        tasks=_with(mode.setup.tasks, rows),
    )
    loads = tuple(
        replace(load, tasks=tuple(_by_message(task) if task.index in rows else task for task in load.tasks))
        for load in mode.loads
    )
    return replace(mode, system=_with_sensors(mode.system, sensors), setup=setup, loads=loads)


def _with_sensors(system: model.System, sensors: Sequence[model.Sensor]) -> model.System:
    return replace(system, sensors=(*system.sensors, *sensors))


def _by_message(task: LoadTask) -> LoadTask:
    """A timed task as if messages made its jobs arrive."""
    return replace(task, streams=(), offset_ns=None, rate_hz=None, message_activated=True, free=False)
