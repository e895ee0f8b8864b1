"""Random small systems of every kind that the analysis speaks of, with their plans; one tick is one nanosecond.

Numbers are small, so that instants coincide and busy periods hold several jobs. Each system has a few of the features.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction

from rt_sched import model
from rt_sched.model import (
    Budget,
    CriticalityLevel,
    CriticalSection,
    DeadlineAction,
    Device,
    DeviceClock,
    Edge,
    EdgeKind,
    ExecutionTime,
    Frequency,
    Input,
    Join,
    Link,
    Mode,
    OnMessage,
    OperatingPoint,
    OverrunAction,
    PEKind,
    Periodic,
    Placement,
    Plan,
    Policy,
    ProcessingElement,
    Processor,
    Protocol,
    Scheduling,
    Sensor,
    SensorKind,
    SharedResource,
    Sporadic,
    Suspension,
    System,
    TableEntry,
    Task,
    TimeSlice,
)

FP, EDF, FIFO, SLICED, TABLE = (
    Policy.FIXED_PRIORITY,
    Policy.EDF,
    Policy.FIFO,
    Policy.TIME_SLICED,
    Policy.TABLE,
)
#: Policy, preemptive, points only, cores: the more common ones more often.
_PROCESSORS = (
    *[(FP, True, False, 1)] * 6,
    *[(FP, False, False, 1)] * 3,
    *[(FP, True, True, 1)] * 2,
    *[(EDF, True, False, 1)] * 4,
    *[(EDF, False, False, 1)] * 2,
    (EDF, True, True, 1),
    (FIFO, False, False, 1),
    *[(SLICED, False, False, 1)] * 2,
    (SLICED, True, False, 1),
    *[(TABLE, False, False, 1)] * 2,
    *[(FP, True, False, 2)] * 2,
    *[(EDF, True, False, 2)] * 2,
)


@dataclass(frozen=True)
class Features:
    """What a system may have. `dense`: hardly anything else, and a load near 1 of few tasks with similar periods."""

    dense: bool
    jitter: bool
    messages: bool
    links: bool
    locks: bool
    suspension: bool
    criticality: bool
    budgets: bool
    let: bool
    switches: bool
    clocks: bool
    modes: bool
    deadline_actions: bool
    known_offsets: bool


def random_case(seed: int) -> tuple[System, Plan]:
    """A system of one or two processors and its plan; every third has no features but jitter and is loaded highly."""
    rng = random.Random(seed)  # noqa: S311 - reproducible test data
    shares = (0.25, 0.25, 0.4, 0.3, 0.15, 0.35, 0.15, 0.15, 0.3, 0.15, 0.15, 0.15, 0.3)
    if seed % 3 == 0:
        shares = (0.3, *[0.0] * (len(shares) - 2), 0.25)
    has = Features(seed % 3 == 0, *(rng.random() < share for share in shares))
    if has.criticality and rng.random() < 0.7:
        has = replace(has, jitter=False, messages=False, suspension=False)
    elements, tasks, processors, placements = [], [], [], []
    for number in range(rng.choice((1, 1, 2))):
        policy, preemptive, points, cores = rng.choice(_PROCESSORS)
        element = ProcessingElement(
            f"p{number}",
            PEKind.CPU,
            cores,
            policy,
            preemptive,
            Scheduling.GLOBAL if cores > 1 else Scheduling.PARTITIONED,
            points_only=points,
            switch_cost_ns=rng.choice((1, 1, 2)) if has.switches else 0,
            migration_cost_ns=rng.choice((0, 1)) if has.switches else 0,
            frequency_hz=2 * 10**9 if has.modes else None,
            operating_points=(OperatingPoint(10**9), OperatingPoint(2 * 10**9)) if has.modes else (),
        )
        mine = _tasks(rng, number, element, has)
        element = _with_cycle(rng, element, mine)
        elements.append(element)
        processors.append(Processor("d", element.name, 0, policy, preemptive, cores))
        levels = list(range(len(mine)))
        if rng.random() < 0.3:
            rng.shuffle(levels)
        placements += [Placement(t.name, number, level) for t, level in zip(mine, levels, strict=True)]
        tasks += mine
    resources: tuple[SharedResource, ...] = ()
    if has.locks:
        resources, tasks = _with_locks(rng, elements, tasks)
    sensors: tuple[Sensor, ...] = ()
    links: tuple[Link, ...] = ()
    if has.messages:
        sensors, links, tasks = _with_messages(rng, tasks, has)
    clock = DeviceClock()
    if has.clocks:
        clock = DeviceClock(Fraction(rng.choice((-80_000, 10_000, 100_000))), rng.randint(0, 5))
    modes: tuple[Mode, ...] = ()
    if has.modes:
        some = tuple(task.name for task in tasks if rng.random() < 0.7)
        slow = tuple(Frequency("d", e.name, 10**9) for e in elements if e.frequency_hz is not None)
        modes = (Mode("all", tuple(task.name for task in tasks)), Mode("some", some, slow))
    device = Device("d", tuple(elements), clock=clock)
    system = System("random", (device,), sensors, tuple(tasks), (), None, "dm", ".", resources, links, modes=modes)
    return system, Plan("random", "dm", tuple(processors), tuple(placements))


def _tasks(rng: random.Random, number: int, element: ProcessingElement, has: Features) -> list[Task]:
    count = rng.randint(2, 3 if has.dense else 5)
    load = rng.choice((0.4, 0.6, 0.8, 0.95, 0.99, 0.99)) * (1 if element.cores == 1 else 0.7 * element.cores)
    if has.switches or has.suspension or has.locks or element.policy in (SLICED, TABLE):
        load *= rng.choice((0.4, 0.6, 0.8))
    if has.dense and element.cores == 1 and element.policy in (FP, EDF, FIFO):
        load = rng.choice((0.97, 0.99, 1.0))
    cuts = sorted(rng.random() for _ in range(count - 1))
    shares = [b - a for a, b in zip([0.0, *cuts], [*cuts, 1.0], strict=True)]
    longest = 14 if has.dense else 40
    slow = rng.choice(((10,), (5,), (3, 20))) if element.policy in (SLICED, TABLE) else (1,)
    periods = sorted(rng.randint(5, longest) * rng.choice(slow) for _ in range(count))
    deadlines = rng.choice(("implicit", "constrained", "constrained" if has.criticality else "arbitrary"))
    return [
        _task(rng, f"t{number}{place}", element, load * share, period, deadlines, has)
        for place, (share, period) in enumerate(zip(shares, periods, strict=True))
    ]


def _task(
    rng: random.Random,
    name: str,
    element: ProcessingElement,
    load: float,
    period: int,
    deadlines: str,
    has: Features,
) -> Task:
    wcet = max(1, min(round(load * period) if has.dense else int(load * period), period))
    least = {"implicit": period, "constrained": min(wcet + 1, period), "arbitrary": wcet}[deadlines]
    most = {"implicit": period, "constrained": period, "arbitrary": 3 * period}[deadlines]
    jitter = rng.randint(0, period) if has.jitter and rng.random() < 0.6 else 0
    activation: model.Activation
    if has.known_offsets or rng.random() < 0.3:
        rate = Fraction(10**9, period) if rng.random() < 0.7 else Fraction(3 * 10**9, 3 * period + rng.randint(0, 2))
        activation = Periodic(rate, rng.choice((0, rng.randint(0, period))), jitter)
    else:
        activation = Sporadic(period, None, 0, jitter)
    bcet = rng.choice((wcet, rng.randint(1, wcet)))
    task = Task(
        name,
        "none:None",
        (),
        ("d", element.name),
        activation,
        (),
        ExecutionTime(bcet, wcet, (bcet, wcet)),
        rng.randint(least, most),
        period,
        level=CriticalityLevel.LO,
    )
    if has.criticality and element.policy is FP and rng.random() < 0.5:
        low = rng.randint(1, wcet)
        task = replace(task, level=CriticalityLevel.HI, execution=replace(task.execution, wcet_lo_ns=low))
    if has.budgets and rng.random() < 0.5:
        action = rng.choice((OverrunAction.ABORT, OverrunAction.LOG, OverrunAction.THROTTLE, OverrunAction.SKIP_NEXT))
        least_budget = wcet if action is OverrunAction.THROTTLE else 1
        budget = Budget(rng.choice((1, 1, 2, 3)), action)
        task = replace(task, budget=budget, budget_ns=rng.randint(least_budget, wcet + 2))
    if has.suspension and rng.random() < 0.5 and wcet > 1:
        least_wait = rng.randint(0, 2)
        wait = Suspension(rng.randint(1, wcet - 1), least_wait, least_wait + rng.randint(1, max(1, period // 4)))
        task = replace(task, suspensions=(wait,))
    if element.points_only and wcet > 1:
        points = tuple(sorted({rng.randint(1, wcet - 1) for _ in range(rng.randint(0, 2))}))
        task = replace(task, preemption_points_ns=points)
    if has.deadline_actions and rng.random() < 0.6:
        task = replace(task, deadline_action=rng.choice(list(DeadlineAction)))
    if has.modes:
        memory = rng.randint(0, bcet)
        task = replace(task, execution=replace(task.execution, frequency_hz=2 * 10**9, memory_ns=memory))
    if has.let and rng.random() < 0.4:
        task = replace(task, communication=model.Communication.LET)
    return task


def _with_cycle(rng: random.Random, element: ProcessingElement, tasks: list[Task]) -> ProcessingElement:
    """Slices or table entries that give every task something."""
    names = [task.name for task in tasks]
    if element.policy is SLICED:
        groups = [tuple(n for n in names if rng.random() < 0.6) for _ in range(rng.randint(1, 3))]
        groups[0] = tuple(dict.fromkeys((*groups[0], *(n for n in names if not any(n in g for g in groups)))))
        slices = tuple(
            TimeSlice(rng.randint(3, 12), tuple(sorted(group, key=names.index)), rng.choice((0, 0, 1, 2)))
            for group in groups
            if group
        )
        return replace(element, slices=slices, slack_sharing=rng.random() < 0.4)
    if element.policy is TABLE:
        entries, at = [], rng.randint(0, 2)
        for task in [*tasks, *rng.choices(tasks, k=rng.randint(0, 2))]:
            length = max(1, task.execution.wcet_ns + element.switch_cost_ns + rng.choice((0, 0, 2, -1)))
            entries.append(TableEntry(at, length, task.name))
            at += length + rng.choice((0, 1, 3))
        return replace(element, table=tuple(entries), table_cycle_ns=at + rng.choice((0, 2)))
    return element


def _with_locks(
    rng: random.Random, elements: list[ProcessingElement], tasks: list[Task]
) -> tuple[tuple[SharedResource, ...], list[Task]]:
    """Sections on up to three resources, under protocols that the plan check lets pass."""
    lockable = {e.name: e for e in elements if e.cores == 1 and e.policy in (FP, EDF, FIFO)}
    if not lockable:
        return (), tasks
    local = {name: f"r{name}" for name in lockable}
    protocol = {
        name: rng.choice(
            (Protocol.PRIORITY_CEILING, Protocol.PRIORITY_INHERITANCE, Protocol.PRIORITY_CEILING)
            if element.policy is FP
            else (Protocol.PRIORITY_CEILING if element.policy is EDF else Protocol.MSRP,)
        )
        for name, element in lockable.items()
    }
    resources = [SharedResource(local[name], protocol[name]) for name in lockable]
    resources += [SharedResource(f"{local[name]}x", protocol[name]) for name in lockable]
    resources.append(SharedResource("everywhere", Protocol.MSRP))
    spread = rng.random() < 0.5
    found = []
    for task in tasks:
        name = task.pe[1]
        wcet = task.execution.wcet_ns
        sections: list[CriticalSection] = []
        if name in lockable and rng.random() < 0.7:
            marks = sorted(rng.sample(range(wcet + 1), min(wcet + 1, rng.choice((2, 3, 4)))))
            if len(marks) >= 2:
                mine = ["everywhere"] if spread and rng.random() < 0.6 else [local[name], f"{local[name]}x"]
                rng.shuffle(mine)
                sections.append(CriticalSection(mine[0], marks[0], marks[1]))
                if len(marks) == 3:
                    other = rng.choice((mine[-1], "everywhere" if spread else mine[-1]))
                    sections.append(CriticalSection(other, marks[1], marks[2]))
                if len(marks) == 4 and len(mine) == 2 and rng.random() < 0.7:
                    sections = [
                        CriticalSection(mine[0], marks[0], marks[3]),
                        CriticalSection(mine[1], marks[1], marks[2]),
                    ]
        inside = [w for w in task.suspensions if any(s.start_ns < w.after_ns < s.end_ns for s in sections)]
        found.append(replace(task, sections=() if inside else tuple(sections)))
    return tuple(resources), found


def _with_messages(
    rng: random.Random, tasks: list[Task], has: Features
) -> tuple[tuple[Sensor, ...], tuple[Link, ...], list[Task]]:
    """Some tasks are activated by sensors or by tasks before them; over a link where there is one."""
    links = (Link("l", Fraction(10**9), rng.choice((0, 2))),) if has.links else ()
    sensors = tuple(
        Sensor(
            f"s{number}",
            SensorKind.CAMERA,
            Fraction(10**9, rng.randint(20, 60)),
            ("d",),
            (f"/s{number}",),
            offset_ns=rng.randint(0, 10),
            latency_ns=rng.randint(0, 6),
            jitter_ns=rng.choice((0, 3)),
        )
        for number in range(2)
    )
    sources = [(sensor.name, int(10**9 / sensor.rate_hz)) for sensor in sensors]
    found: list[Task] = []
    for task in tasks:
        if rng.random() < 0.5:
            join = rng.choice((Join.LATEST, Join.LATEST, Join.ANY, Join.ALL))
            if join is Join.ALL:
                chosen = rng.sample(sources, 2)
            else:
                chosen = [rng.choice(sources) for _ in range(2 if join is Join.ANY else 1)]
            inputs = tuple(_input(rng, f"in{i}", name, bool(links)) for i, (name, _) in enumerate(chosen))
            jitter = rng.choice((0, 0, 4)) if has.jitter else 0
            task = replace(
                task,
                activation=OnMessage(join, "in0" if join is Join.LATEST else None, rng.choice((0, 5, 40)), jitter),
                inputs=inputs,
                separation_ns=min(period for _, period in chosen),
            )
        sources.append((task.name, task.separation_ns))
        found.append(task)
    return sensors, links, found


def _input(rng: random.Random, name: str, source: str, links: bool) -> Input:
    port = None if source.startswith("s") else "out"
    over = "l" if links and rng.random() < 0.5 else None
    return Input(name, source, port, Edge(EdgeKind.QUEUE, 8), True, over, rng.randint(1, 3) if over else None)
