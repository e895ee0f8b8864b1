"""The loads of a system under a takeover: once it is in force, and while it comes into force.

**In force.** Moved tasks run where the takeover puts them, dropped ones are gone, variants take their own time. Moved
timed tasks keep their cycle, but nothing is taken for granted of its phase: they count as sporadic.

**While it comes into force.** Let the switch be at s. On a processor that gains tasks a run is a legal run of its
residents and of what comes to it, for ever: residents arrive as before; what comes arrives from s on only, with the
messages that it would get anyway, and at s once more with a kept message; a timed task arrives once more at its
additional instant. So in any interval no more jobs arrive than the usual streams allow, and one more of every task with
an additional arrival. Every bound for sporadic arrivals holds for these streams with one more, of a single arrival,
whose phase towards the others is not known; its outputs are one more stream of what they activate, and so on. Tasks
that are dropped here, and residents that go on cheaper, count with all that they need before the switch. A processor
that only loses tasks has no more to do than before, so that its bounds before the switch hold across it.

Source: Tindell, Burns, Wellings 1992 (a run across a change as a run of the tasks of both sides); Quinton, Hanke, Ernst
2012 (rare activations beside the usual ones).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from rt_sched import model
from rt_sched.analysis.faults.losses import Loss, loss_of_faults, surviving
from rt_sched.analysis.faults.takeover_tasks import under_takeover
from rt_sched.analysis.faults.transitions.loads import Presence, Transition
from rt_sched.analysis.loads.frequencies import at_frequencies_of
from rt_sched.analysis.loads.load import LoadTask
from rt_sched.analysis.loads.resolve import ModeLoad, loads_of, setups_of
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.lowering.lower import uses_let
from rt_sched.lowering.machine_input import Role
from rt_sched.lowering.task_rows import Execution, task_row
from rt_sched.trace.setup import EdgeKind, EdgeRow, Setup, TaskRow
from rt_sched.units import NS_PER_S

#: Distance of the arrivals of a stream that arrives only once: no busy period comes near it.
ONCE_NS = 10**15


def faults_of(losses: tuple[str, ...]) -> tuple[model.Fault, ...]:
    """What a takeover answers, as faults; raises ValueError for a kind that does not exist."""
    pairs = (one.partition(":") for one in losses)
    return tuple(model.Fault(model.FaultKind(kind), target, 0) for kind, _, target in pairs)


@dataclass(frozen=True, slots=True)
class _Base:
    """Rows of one mode, with worst and best demands, as they are without a takeover."""

    longest: Setup
    shortest: Setup


class TakeoverLoads:
    """The modes of one system and plan under takeovers. `system`: with the frequencies of the start of a run."""

    def __init__(self, system: model.System, plan: model.Plan, modes: Mapping[str, ModeLoad]) -> None:
        self._system, self._plan, self._modes = system, plan, modes
        self._bases: dict[str, _Base] = {}

    def before(self, mode: ModeLoad, takeover: model.Takeover) -> tuple[ModeLoad, Loss]:
        """What is left of a mode from the loss on until the takeover is in force."""
        loss = loss_of_faults(mode, faults_of(takeover.losses))
        return surviving(mode, loss), loss

    def after(self, mode: ModeLoad, takeover: model.Takeover) -> tuple[ModeLoad, Loss]:
        """The mode under a takeover in force, without what is lost for all that. Raises AnalysisNotApplicable."""
        changed = self._changed(mode, takeover)
        loss = loss_of_faults(changed, faults_of(takeover.losses))
        return surviving(changed, loss), loss

    def across(self, mode: ModeLoad, takeover: model.Takeover) -> Transition:
        """The change from what is left to the takeover in force, with additional arrivals. Raises as `after` does."""
        moved = {placement.task for placement in takeover.moves}
        heaviest = replace(takeover, dropped=(), variants=tuple(one for one in takeover.variants if one[0] in moved))
        old, _ = self.before(mode, takeover)
        together, _ = self.after(mode, heaviest)
        self._refuse_exchanges(old, takeover)
        load = with_additional_arrivals(together, takeover)
        presence = {}
        for index, row in enumerate(load.setup.tasks):
            if load.active[index]:
                gone = row.name in takeover.dropped
                presence[index] = Presence.REMOVED if gone else Presence.ADDED if row.name in moved else Presence.KEPT
        added = {index: 0 for index, one in presence.items() if one is Presence.ADDED}
        return Transition(old, load, load, presence, added)

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

    def _base(self, mode: ModeLoad) -> _Base:
        if mode.name not in self._bases:
            longest, shortest = setups_of(mode.system, mode.plan)
            if mode.system.modes or self._system.modes:
                at_start = setups_of(self._system, self._plan)
                longest, shortest = (
                    at_frequencies_of(start, present)
                    for start, present in zip(at_start, (longest, shortest), strict=True)
                )
            self._bases[mode.name] = _Base(longest, shortest)
        return self._bases[mode.name]

    def _changed(self, mode: ModeLoad, takeover: model.Takeover) -> ModeLoad:
        """The mode with everything where the takeover puts it, lost or not."""
        if not takeover.moves and not takeover.variants and not takeover.dropped:
            return mode
        found = under_takeover(mode.system, mode.plan, takeover)
        plan, base = with_moves(mode.plan, takeover), self._base(mode)
        longest, shortest = found.rewired(base.longest), found.rewired(base.shortest)
        rows = {
            index: self._rows(mode, found.system, plan, index)
            for index, task in enumerate(found.system.tasks)
            if task.name in found.changed
        }
        longest = replace(longest, tasks=_with(longest.tasks, {index: pair[0] for index, pair in rows.items()}))
        shortest = replace(shortest, tasks=_with(shortest.tasks, {index: pair[1] for index, pair in rows.items()}))
        dropped = frozenset(takeover.dropped)
        active = tuple(one and row.name not in dropped for one, row in zip(mode.active, longest.tasks, strict=True))
        return loads_of(mode.name, found.system, plan, longest, shortest, active)

    def _rows(self, mode: ModeLoad, system: model.System, plan: model.Plan, index: int) -> tuple[TaskRow, TaskRow]:
        """One task with its worst and its best demand where it is now."""
        task, placement = system.tasks[index], plan.placements[index]
        processor = plan.processors[placement.processor]
        device = next(one for one in self._system.devices if one.name == processor.device)
        element = next(one for one in device.processing_elements if one.name == processor.pe)
        clock = replace(device.clock, sync_error_ns=0)
        resource_of = {resource.name: number for number, resource in enumerate(system.resources)}
        longest, shortest = (
            task_row(
                task,
                placement,
                element,
                clock,
                execution=execution,
                let=uses_let(system, task),
                active=mode.active[index],
                resource_of=resource_of,
            )
            for execution in (Execution.WCET, Execution.BCET)
        )
        present = replace(mode.setup, tasks=())
        start_khz = 1 if element.frequency_hz is None else element.frequency_hz // 1000
        if mode.setup.processors[placement.processor].frequency_khz == start_khz:
            return longest, shortest
        at_start = tuple(
            replace(row, frequency_khz=start_khz) if number == placement.processor else row
            for number, row in enumerate(mode.setup.processors)
        )
        start = replace(present, processors=at_start, tasks=(longest, shortest))
        first, second = at_frequencies_of(start, present).tasks
        return first, second


def _with(rows: tuple[TaskRow, ...], changed: Mapping[int, TaskRow]) -> tuple[TaskRow, ...]:
    return tuple(changed.get(index, row) for index, row in enumerate(rows))


def with_moves(plan: model.Plan, takeover: model.Takeover) -> model.Plan:
    """The placements under a takeover."""
    places = {placement.task: placement for placement in takeover.moves}
    return replace(plan, placements=tuple(places.get(one.task, one) for one in plan.placements))


def with_additional_arrivals(mode: ModeLoad, takeover: model.Takeover) -> ModeLoad:
    """The mode in which every task of `redone` and `at_once` may arrive once more, at any time.

    Each such arrival is the only message of a further sensor. A timed task is then activated by that one and by one
    that stands for its cycle.
    """
    index_of = {row.name: index for index, row in enumerate(mode.setup.tasks) if mode.active[index]}
    redone = [index_of[name] for name in takeover.redone if name in index_of]
    at_once = [index_of[name] for name, _ in takeover.at_once if name in index_of]
    # A kept message may find other partners than its own, so every message may be the last of a pair.
    edges = [
        replace(edge, role=Role.EACH) if edge.role is Role.PAIRED and edge.target in redone else edge
        for edge in mode.setup.edges
    ]
    sensors: list[model.Sensor] = []
    names = mode.setup.sensors

    def activate(index: int, what: str, distance_ns: int) -> None:
        sensors.append(model.Sensor(what, model.SensorKind.CAMERA, Fraction(NS_PER_S, distance_ns), (), ()))
        place = len(names) + len(sensors) - 1
        edges.append(EdgeRow(index, what, EdgeKind.QUEUE, Role.EACH, sensor=place))

    for index in redone:
        activate(index, f"kept message of {mode.setup.tasks[index].name}", ONCE_NS)
    for index in at_once:
        row = mode.setup.tasks[index]
        activate(index, f"cycle of {row.name}", row.separation_ns or 1)
        activate(index, f"additional arrival of {row.name}", ONCE_NS)
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
