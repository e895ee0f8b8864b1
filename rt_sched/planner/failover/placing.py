"""A first proposal: every task of a lost device to a processor with room, near what it reads and what reads it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from rt_sched.analysis.faults.takeover_crossing import sampling_tasks
from rt_sched.model import Placement, Variant
from rt_sched.planner.failover.capacity import Full, Lodger, check_room
from rt_sched.planner.failover.ground import Ground
from rt_sched.planner.failover.losses import Losses
from rt_sched.planner.failover.lost_tasks import lost_tasks
from rt_sched.planner.failover.memory import Memory
from rt_sched.planner.failover.places import Places


@dataclass(slots=True)
class Choices:
    """What a search has decided so far.

    `barred`: (task, processor) that proved too much. `dropped`: tasks that stop. `variants`: tasks in a cheaper
    variant, by its name. `not_again`: heads that do not process a kept message, timed tasks without an additional
    arrival. `left`: lost tasks that are given up, with the reason. `first`: tasks that choose before all others.
    `preferred`: processors that tasks try first, where takeovers for a part of the losses put them.
    """

    barred: set[tuple[str, int]] = field(default_factory=set)
    dropped: list[str] = field(default_factory=list)
    variants: dict[str, str] = field(default_factory=dict)
    not_again: set[str] = field(default_factory=set)
    left: dict[str, str] = field(default_factory=dict)
    first: list[str] = field(default_factory=list)
    preferred: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposal:
    """`moves`: by task; `unplaced`: lost tasks that found no place, with the reason."""

    moves: Mapping[str, Placement]
    unplaced: Mapping[str, str]


class Placing:
    """Places the lost tasks of one set of losses. `surely`: nothing is left to an analysis that follows."""

    def __init__(self, ground: Ground, losses: Losses, memory: Memory, *, surely: bool = False) -> None:
        self._ground, self._memory, self._surely = ground, memory, surely
        self._places = Places(ground, losses)
        self.needed, self.welcome = lost_tasks(ground, self._places)

    def propose(self, choices: Choices) -> Proposal:
        """Tasks that lead to the arbiter first, each after what it reads, then the others."""
        once_more = self.once_more(choices)
        run = _Run(self._ground, self._places, self._memory, choices, once_more, surely=self._surely)
        for task in dict.fromkeys((*choices.first, *self.needed, *self.welcome)):
            if task not in choices.left:
                run.place(task)
        return Proposal(run.moves, {**choices.left, **run.unplaced})

    def is_lost(self, task: str) -> bool:
        """Whether a task is at home on a lost device."""
        return self._places.is_lost(task)

    def is_starved(self, task: str) -> bool:
        """Whether nothing would activate a task any more, wherever it is."""
        return task in self._places.starved

    def once_more(self, choices: Choices) -> frozenset[str]:
        """Tasks that may arrive once more: what is moved, what puts it together, and what either sets off."""
        heads = [name for name in self.needed if name not in choices.not_again]
        sensors = {
            source for name in heads for source in self._ground.feeders[name] if source not in self._ground.tasks
        }
        modes = self._ground.modes.values()
        heads += [n for mode in modes for n in sampling_tasks(mode, sensors) if n not in choices.not_again]
        return frozenset(other for name in heads for other in self._ground.sets_off(name))


class _Run:
    """One pass over the lost tasks. `once_more`: tasks that may have an additional arrival."""

    def __init__(
        self,
        ground: Ground,
        places: Places,
        memory: Memory,
        choices: Choices,
        once_more: frozenset[str],
        *,
        surely: bool,
    ) -> None:
        self._ground, self._places, self._memory, self._choices = ground, places, memory, choices
        self._once_more, self._surely = once_more, surely
        self._known: dict[int, list[Lodger]] = {}
        self._device: dict[str, str] = {}
        self._owner: dict[str, str] = {}
        self.moves: dict[str, Placement] = {}
        self.unplaced: dict[str, str] = {}

    def _lodgers(self, processor: int) -> list[Lodger]:
        """What is on a processor so far: residents that stay, in the variants that are chosen, and what has come."""
        if processor not in self._known:
            self._known[processor] = self._at_home(processor)
        return self._known[processor]

    def _at_home(self, processor: int) -> list[Lodger]:
        stay = [
            task
            for task in self._ground.residents[processor]
            if task.name not in self._choices.dropped and not self._places.is_lost(task.name)
        ]
        return [self._lodger(task.name, processor, task.level, int(task.name in self._once_more)) for task in stay]

    def _variant(self, task: str) -> Variant | None:
        wanted = self._choices.variants.get(task)
        return next((one for one in self._ground.tasks[task].variants if one.name == wanted), None)

    def _lodger(self, task: str, processor: int, level: int, more: int = 0) -> Lodger:
        variant, home = self._variant(task), self._ground.home[task]
        if variant is None and home == processor:
            load = next(one for one in self._ground.residents[processor] if one.name == task)
        else:
            load = self._ground.as_loaded(task, processor, variant)
        grid = self._ground.grids[task]
        if grid is None and self._surely:
            raise Full(f"the arrivals of task {task} are not those of one grid")
        period_ns, jitter_ns = grid or (self._ground.tasks[task].separation_ns, 0)
        every = 1 if variant is None else variant.every
        return Lodger(load, level, period_ns * every, jitter_ns, more)

    def place(self, task: str) -> None:
        """Move `task` to the first place with room, or note why there is none.

        One with room for an additional arrival comes before any other.
        """
        before = self._ground.activating(task)
        if before and all(name in self.unplaced or name in self._choices.left for name in before):
            self.unplaced[task] = f"{before[0]} goes nowhere, which activates it"
            return
        reasons: dict[str, None] = {}
        for more in (1, 0) if task in self._once_more else (0,):
            reasons = {}
            for device in self._devices(task):
                reason = self._place_on(task, device, more)
                if reason is None:
                    return
                reasons[reason] = None
        self.unplaced[task] = "; ".join(reasons) or "no device is left"

    def _devices(self, task: str) -> list[str]:
        """Devices in the order in which they are tried: the preferred one before all others, if it is one of them."""
        wanted = self._choices.preferred.get(task)
        there = None if wanted is None else self._ground.device_of(wanted)
        return sorted(self._usual_devices(task), key=lambda device: device != there)

    def _usual_devices(self, task: str) -> list[str]:
        """The owner of its sensor; else where its neighbours are."""
        sensors = [s for s in self._ground.activating(task) if s not in self._ground.tasks]
        owned = next((self._owner[sensor] for sensor in sensors if sensor in self._owner), None)
        if owned is not None:
            return [owned]
        if sensors:
            return list(self._places.owners(sensors[0]))
        before = [self._device[source] for source in self._ground.activating(task) if source in self._device]
        neighbours = [*self._ground.feeders[task], *self._ground.readers.get(task, ())]
        near = [self._where(name) for name in neighbours if name in self._ground.tasks]

        def distance(device: str) -> tuple[bool, int, float]:
            return device not in before, -near.count(device), self._load_of(device)

        return sorted(self._places.devices, key=distance)

    def _where(self, task: str) -> str | None:
        if task in self._device or self._places.is_lost(task):
            return self._device.get(task)
        return self._ground.device_of(self._ground.home[task])

    def _place_on(self, task: str, device: str, more: int) -> str | None:
        """Why it cannot be there; None when it is."""
        reason = self._places.why_out_of_reach(task, device, self._device)
        if reason is not None:
            return reason
        coming = [name for name, there in self._device.items() if there == device]
        if not self._memory.has_room(task, device, coming):
            return f"{device} has no memory left for it"
        processors = [
            number
            for number in self._places.processors(task, device)
            if self._beside_companions(task, number) and self._variant_runs_on(task, number)
        ]
        if not processors:
            return f"{device} has no element that it may run on"
        reason = f"{device} proved too full"
        wanted = self._choices.preferred.get(task)
        for processor in sorted(processors, key=lambda number: (number != wanted, self._load(number), number)):
            if (task, processor) in self._choices.barred:
                continue
            level = self._ground.levels.standby(self._ground.index_of[task], processor)
            try:
                mine = self._lodger(task, processor, level, more)
                check_room(self._ground.plan.processors[processor], [*self._lodgers(processor), mine])
            except Full as full:
                reason = str(full)
                if self._surely or not self._left_to_analysis(processor, mine):
                    continue
            self._lodgers(processor).append(mine)
            self.moves[task] = Placement(task, processor, level)
            self._device[task] = device
            for sensor in self._ground.activating(task):
                self._owner.setdefault(sensor, device)
            return None
        return reason

    def _left_to_analysis(self, processor: int, mine: Lodger) -> bool:
        """Whether only the analysis can tell: of shared cores, waits and locks, as long as half of the time is left."""
        place = self._ground.plan.processors[processor]
        plain = all(
            not one.task.suspensions and not one.task.locks and one.task.blocking is not None
            for one in (*self._lodgers(processor), mine)
        )
        needed = self._load(processor) * place.cores + mine.task.cost_ns / mine.period_ns
        return (place.cores > 1 or not plain) and needed <= place.cores / 2

    def _variant_runs_on(self, task: str, processor: int) -> bool:
        variant = self._variant(task)
        element = self._ground.element_of(self._ground.plan.processors[processor])
        return variant is None or self._ground.has_time(self._ground.tasks[task], variant, element)

    def _beside_companions(self, task: str, processor: int) -> bool:
        companions = self._places.companions(task)
        there = [
            self.moves[name].processor if name in self.moves else self._ground.home[name]
            for name in companions
            if name in self.moves or not self._places.is_lost(name)
        ]
        return all(one == processor for one in there)

    def _load(self, processor: int) -> float:
        """Share of each core that is needed; infinite where that is not known."""
        try:
            lodgers = self._lodgers(processor)
        except Full:
            return math.inf
        return sum(one.task.cost_ns / one.period_ns for one in lodgers) / self._ground.plan.processors[processor].cores

    def _load_of(self, device: str) -> float:
        return sum(self._load(n) for n, one in enumerate(self._ground.plan.processors) if one.device == device)
