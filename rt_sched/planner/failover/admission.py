"""Whether a combination of losses that the table of takeovers lacks can be answered at once, without an analysis.

Everything counts with its deadline instead of its response. Let the arrivals of all tasks that a change touches be
bounded as long as every task before them ends by its deadline, kept messages included; and let every processor that
the change touches, with these arrivals, end every job by its deadline. Then no job is the first to be late: those
before it were in time, so its arrivals were as assumed, so it is in time. What the change does not touch goes on as
before, and has to be in time. A task may only come to where it stands by in the table: anywhere else it would have to
be loaded first.

The answer is refused when it is not sure: on several cores that share a queue, with waits or shared resources, behind
several streams, on devices whose elements slow each other down, over links that messages do not take usually, and where
tasks that have to go on find no such place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from rt_sched.analysis.faults.takeover_crossing import sampling_tasks
from rt_sched.analysis.faults.takeover_loads import faults_of, with_moves
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.system.propagation import Streams, activations, clock_stream, sensor_streams
from rt_sched.lowering.losses import lost_sensors
from rt_sched.lowering.routes import routed
from rt_sched.model import Plan, System, Takeover
from rt_sched.planner.failover.capacity import Full, Lodger, check_room
from rt_sched.planner.failover.ground import Ground
from rt_sched.planner.failover.losses import Losses, checked, places_in
from rt_sched.planner.failover.memory import Memory
from rt_sched.planner.failover.placing import Choices, Placing
from rt_sched.planner.failover.weights import fusion_weights


@dataclass(frozen=True, slots=True)
class Admission:
    """`takeover`: the answer; None where it is refused, for the `reason`."""

    takeover: Takeover | None
    reason: str


class AdmissionTest:
    """Made once for a plan with its table of takeovers; asked for each combination."""

    def __init__(self, system: System, plan: Plan) -> None:
        self._table = {one.losses: one for one in plan.takeovers}
        self._system, self._plan = system, plan
        self._known_levels = {(m.task, m.processor): m.level for one in plan.takeovers for m in one.moves}
        ground = Ground(system, replace(plan, takeovers=()))
        self._late = next((name for name in ground.tasks if not ground.is_in_time(name)), None)
        self._grids = _grids_by_deadlines(ground)
        self._ground = ground.with_grids(self._grids)
        self._standby = {name: {plan.placements[index].processor} for name, index in ground.index_of.items()}
        self._memory = Memory(system, plan)
        for move in (move for one in plan.takeovers for move in one.moves):
            self._standby[move.task].add(move.processor)
            self._memory.keep(move.task, plan.processors[move.processor].device)

    def admit(self, losses: Collection[str]) -> Admission:
        """The takeover for some losses at one time; that of the table where it has one. Raises ValueError."""
        wanted = checked(self._system, losses)
        if wanted in self._table:
            return Admission(self._table[wanted], "it is in the table")
        if self._late is not None:
            return Admission(None, f"task {self._late} is not known to keep its deadline without any loss")
        placing = Placing(self._ground, wanted, self._memory, surely=True)
        preferred = places_in(self._table.values(), wanted)
        choices = Choices(barred=self._not_standing_by(placing.needed), preferred=preferred)
        choices.left.update(dict.fromkeys(placing.welcome, "only what has to go on is admitted"))
        proposal = placing.propose(choices)
        unplaced = [name for name in placing.needed if name in proposal.unplaced]
        if unplaced:
            return Admission(None, f"task {unplaced[0]} goes nowhere: {proposal.unplaced[unplaced[0]]}")
        again = placing.once_more(choices)
        takeover = self._takeover(wanted, placing, again, Takeover(wanted, tuple(proposal.moves.values())))
        try:
            self._check_touched(takeover, again)
        except Full as full:
            return Admission(None, str(full))
        moves = self._ground.levels.in_plan(self._plan, takeover.moves, self._known_levels)
        if moves is None:
            return Admission(None, "the levels of the plan leave no room where tasks would come")
        return Admission(replace(takeover, moves=moves), "every deadline is kept")

    def _not_standing_by(self, tasks: Sequence[str]) -> set[tuple[str, int]]:
        """(task, processor) for every device on which a task does not stand by."""
        plan = self._ground.plan
        warm = {name: {self._ground.device_of(number) for number in self._standby[name]} for name in tasks}
        return {
            (name, number)
            for name in tasks
            for number, processor in enumerate(plan.processors)
            if processor.device not in warm[name]
        }

    def _takeover(self, losses: Losses, placing: Placing, again: frozenset[str], moved: Takeover) -> Takeover:
        """The moves with kept messages and additional arrivals, unless a link would have to carry more for them."""
        ground = self._ground
        order = sorted((move.task for move in moved.moves), key=ground.index_of.__getitem__)
        silent = list(lost_sensors(self._system, faults_of(losses)))
        weights = fusion_weights(self._system, silent)
        if any(port.link is not None and port.source in again for task in self._system.tasks for port in task.inputs):
            return replace(moved, weights=weights)
        redone = [n for n in order if not ground.tasks[n].is_timed and set(ground.activating(n)) - set(order)]
        heads = {source for name in redone for source in ground.feeders[name] if source not in ground.tasks}
        modes = ground.modes.values()
        sampling = {name for mode in modes for name in sampling_tasks(mode, heads | set(silent))} & again
        delay_ns = max((self._path_ns(name) for name in redone), default=0)
        timed = sorted((n for n in sampling if not self._is_gone(n, order, placing)), key=ground.index_of.__getitem__)
        return replace(moved, redone=tuple(redone), at_once=tuple((name, delay_ns) for name in timed), weights=weights)

    def _is_gone(self, task: str, moved: Sequence[str], placing: Placing) -> bool:
        return task not in moved and placing.is_lost(task)

    def _path_ns(self, head: str) -> int:
        """By when everything that a kept message sets off is done, if every task ends by its deadline."""
        return sum(self._ground.tasks[name].deadline_ns for name in self._ground.sets_off(head))

    def _check_touched(self, takeover: Takeover, again: frozenset[str]) -> None:
        """Raises Full unless all processors keep their deadlines that get tasks, or what comes from such tasks."""
        ground = self._ground
        moved = {move.task: move for move in takeover.moves}
        self._check_routes(takeover)
        onward = {other for name in (*moved, *again) for other in ground.sets_off(name)}
        touched = {move.processor for move in takeover.moves}
        touched |= {ground.home[name] for name in onward if name not in moved and not self._lost(name, takeover)}
        slowed = {device.name for device in self._system.devices if device.contention}
        for processor in sorted(touched):
            if ground.device_of(processor) in slowed:
                raise Full(f"the elements of {ground.device_of(processor)} slow each other down")
            lodgers = [
                self._lodger(task.name, processor, task.level, again)
                for task in ground.residents[processor]
                if task.name not in moved and not self._lost(task.name, takeover)
            ]
            lodgers += [
                self._lodger(name, processor, move.level, again)
                for name, move in moved.items()
                if move.processor == processor
            ]
            check_room(ground.plan.processors[processor], lodgers)

    def _lost(self, task: str, takeover: Takeover) -> bool:
        return f"device:{self._ground.device_of(self._ground.home[task])}" in takeover.losses

    def _check_routes(self, takeover: Takeover) -> None:
        """Raises Full when a message takes a link that it does not take usually."""
        usual = routed(self._system, self._ground.plan).tasks
        now = routed(self._system, with_moves(self._ground.plan, takeover)).tasks
        for before, after in zip(usual, now, strict=True):
            for old, new in zip(before.inputs, after.inputs, strict=True):
                if new.link is not None and new.link != old.link:
                    raise Full(f"input {new.name} of task {after.name} would take link {new.link}")

    def _lodger(self, task: str, processor: int, level: int, again: frozenset[str]) -> Lodger:
        grid = self._grids[task]
        if grid is None:
            raise Full(f"the arrivals of task {task} are not those of one grid")
        home = self._ground.home[task] == processor
        loads = self._ground.residents[processor] if home else [self._ground.as_loaded(task, processor, None)]
        return Lodger(next(one for one in loads if one.name == task), level, *grid, int(task in again))


def _grids_by_deadlines(ground: Ground) -> Mapping[str, tuple[int, int] | None]:
    """Distance and jitter of all arrivals if every job ends by its deadline, at any instant before it."""
    by_mode = [_streams_by_deadlines(mode) for mode in ground.modes.values()]
    found: dict[str, tuple[int, int] | None] = {}
    for name, index in ground.index_of.items():
        streams = [streams[index] for streams in by_mode if index in streams]
        single = [one[0] for one in streams if not isinstance(one, str) and len(one) == 1]
        known = len(single) == len(streams) and single
        found[name] = (min(s.period_ns for s in single), max(s.jitter_ns for s in single)) if known else None
    return found


def _streams_by_deadlines(mode: ModeLoad) -> dict[int, Streams]:
    """Arrivals of every task of a mode, followed from sensors and clocks on until they change no more."""
    sensors = sensor_streams(mode.system)
    tasks = {task.index: (task, load.processor.device) for load in mode.loads for task in load.tasks}
    outputs: dict[int, Streams] = dict.fromkeys(tasks, ())
    arrivals: dict[int, Streams] = {}
    for _ in range(len(tasks) + 1):
        found = {
            index: activations(mode, sensors, outputs, index) if task.message_activated else clock_stream(task, device)
            for index, (task, device) in tasks.items()
        }
        if found == arrivals:
            break
        arrivals = found
        for index, streams in found.items():
            row = mode.setup.tasks[index]
            least_ns = row.deadline_ns if row.let else 1
            if not isinstance(streams, str):
                outputs[index] = tuple(stream.delayed(least_ns, max(row.deadline_ns, 1)) for stream in streams)
            else:
                outputs[index] = streams
    return arrivals
