"""Random systems of two to five devices: sensors, pipelines over processors and links, joins, and other load.

Numbers are small, so that instants coincide and busy periods hold several jobs.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction

from random_graphs import graph_with_chain

from rt_sched.model import (
    Activation,
    CauseEffectChain,
    Communication,
    CriticalSection,
    Device,
    DeviceClock,
    Edge,
    EdgeKind,
    ExecutionTime,
    Input,
    Join,
    Link,
    OnMessage,
    Overflow,
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
    System,
    Task,
    TimeSlice,
)

FP, EDF, FIFO, SLICED = Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO, Policy.TIME_SLICED
#: Policy, preemptive, at points only: the more common ones more often.
_CPUS = (*[(FP, True, False)] * 5, *[(EDF, True, False)] * 3, (FP, True, True), (SLICED, True, False))
_GPUS = (*[(FP, False, False)] * 3, *[(FIFO, False, False)] * 2, (EDF, False, False), (SLICED, False, False))
_PERIODS = (20, 30, 40, 50, 60, 80, 100, 120)
_LOADS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class _Features:
    """What a system may have. `simple`: only fixed priorities and pipelines of messages, where offsets matter most."""

    simple: bool
    links: bool
    joins: bool
    jitter: bool
    drift: bool
    trigger: bool
    let: bool
    locks: bool
    switches: bool
    global_queue: bool


@dataclass
class _Draft:
    """A task that has no execution time yet; `rate`: arrivals a nanosecond; `period`: that it is judged by."""

    name: str
    element: int
    activation: Activation
    inputs: tuple[Input, ...]
    rate: float
    period: int
    wcet: int = 1


def random_distributed(seed: int) -> tuple[System, Plan]:
    """System `seed` and its plan: every fourth is simple, every sixteenth a task graph with its own processors."""
    if seed % 16 == 15:
        return graph_with_chain(seed)
    return _Maker(random.Random(seed)).system(simple=seed % 4 == 0)  # noqa: S311 - reproducible test data


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._drafts: list[_Draft] = []
        self._chains: list[CauseEffectChain] = []

    def system(self, *, simple: bool) -> tuple[System, Plan]:
        """Everything but the execution times first: those follow from the load that each processor is to have."""
        rng = self._rng
        shares = (0.6, 0.5, 0.4, 0.3, 0.3, 0.2, 0.2, 0.15, 0.1)
        has = _Features(
            simple,
            *(
                rng.random() < (share if not simple else 0.3 * (number in (0, 4)))
                for number, share in enumerate(shares)
            ),
        )
        self._has = has
        devices = self._devices()
        self._elements = [(device.name, element) for device in devices for element in device.processing_elements]
        self._links = tuple(
            Link(f"l{number}", Fraction(rng.choice((1, 2)) * 10**9), rng.choice((0, 0, 3)))
            for number in range(rng.randint(1, 2) if has.links else 0)
        )
        self._sensors = self._make_sensors([device.name for device in devices])
        for number in range(rng.randint(1, 3)):
            self._pipeline(number)
        for number in range(rng.randint(1, 4)):
            element = rng.randrange(len(self._elements))
            period = rng.choice(_PERIODS)
            self._drafts.append(_Draft(f"x{number}", element, self._clock(period), (), 1 / period, period))
        self._give_work()
        resources, sections = self._locks()
        tasks = tuple(self._task(draft, sections.get(draft.name, ())) for draft in self._drafts)
        devices = tuple(
            replace(device, processing_elements=tuple(self._with_cycle(e) for e in device.processing_elements))
            for device in devices
        )
        system = System(
            "random", devices, self._sensors, tasks, tuple(self._chains), None, "dm", ".", resources, self._links
        )
        return system, self._plan(devices)

    def _devices(self) -> tuple[Device, ...]:
        rng, has = self._rng, self._has
        found = []
        for number in range(rng.randint(2, 5)):
            kinds = [PEKind.CPU, *([PEKind.GPU] if rng.random() < 0.5 else [])]
            elements = []
            for kind in kinds:
                policy, preemptive, points = rng.choice(_CPUS if kind is PEKind.CPU else _GPUS)
                if has.simple:
                    policy, preemptive, points = FP, kind is PEKind.CPU, False
                cores = 2 if has.global_queue and policy in (FP, EDF) and preemptive and rng.random() < 0.3 else 1
                elements.append(
                    ProcessingElement(
                        f"{kind.value}{number}",
                        kind,
                        cores,
                        policy,
                        preemptive,
                        Scheduling.GLOBAL if cores > 1 else Scheduling.PARTITIONED,
                        points_only=points,
                        switch_cost_ns=rng.choice((0, 1)) if has.switches and policy is not SLICED else 0,
                    )
                )
            drifts = has.drift and rng.random() < 0.7
            drift = Fraction(rng.choice((-30_000, 10_000, 50_000))) if drifts else Fraction(0)
            clock = DeviceClock(drift, rng.randint(0, 20) if has.drift else 0)
            found.append(Device(f"d{number}", tuple(elements), clock=clock))
        return tuple(found)

    def _make_sensors(self, devices: list[str]) -> tuple[Sensor, ...]:
        """With a trigger all have one rate, offset and drift."""
        rng, has = self._rng, self._has
        shared = Fraction(10**9, rng.choice(_PERIODS)), rng.randint(0, 20)
        sensors = []
        for number in range(rng.randint(1, 3)):
            own = Fraction(10**9, rng.choice(_PERIODS)), rng.randint(0, 20)
            rate, offset = shared if has.trigger else own
            drift = Fraction(rng.choice((0, 20_000, -20_000))) if has.drift and not has.trigger else Fraction(0)
            latency = rng.randint(0, 10)
            sensors.append(
                Sensor(
                    f"s{number}",
                    SensorKind.CAMERA,
                    rate,
                    (rng.choice(devices),),
                    (f"/s{number}",),
                    offset,
                    latency,
                    rng.randint(0, 6) if has.jitter else 0,
                    trigger="t" if has.trigger else None,
                    drift_ppm=drift,
                    capture_jitter_ns=rng.choice((0, 0, 4)) if has.jitter else 0,
                )
            )
        return tuple(sensors)

    def _clock(self, period: int) -> Activation:
        rng = self._rng
        jitter = rng.randint(1, period // 3) if self._has.jitter and rng.random() < 0.4 else 0
        if rng.random() < 0.25:
            return Sporadic(period, rng.choice((None, period, period + rng.randint(1, period))), 0, jitter)
        return Periodic(Fraction(10**9, period), rng.choice((0, rng.randrange(period))), jitter)

    def _pipeline(self, number: int) -> None:
        """From a sensor or a clock through tasks that messages activate, or that look on their own clock."""
        rng, has = self._rng, self._has
        path: list[str] = []
        if rng.random() < 0.7:
            sensor = rng.choice(self._sensors)
            path.append(sensor.name)
            rate, period = float(sensor.rate_hz / 10**9), int(10**9 / sensor.rate_hz)
        else:
            period = rng.choice(_PERIODS)
            rate = 1 / period
            head = self._clock(period)
            self._drafts.append(_Draft(f"p{number}a", rng.randrange(len(self._elements)), head, (), rate, period))
            path.append(f"p{number}a")
        sampling = 0.0 if has.simple and rng.random() < 0.7 else rng.choice((0.0, 0.5, 0.5, 1.0))
        for place in range(rng.randint(2 if len(path) == 1 and path[0][0] == "s" else 1, 5)):
            name = f"p{number}{'bcdefg'[place]}"
            element = rng.randrange(len(self._elements))
            source = self._input("in", path[-1], element)
            if rng.random() < sampling:
                period = rng.choice(_PERIODS)
                rate = 1 / period
                inputs: tuple[Input, ...] = (replace(source, edge=Edge(EdgeKind.LATEST), required=rng.random() < 0.2),)
                activation: Activation = self._clock(period)
            elif has.joins and self._drafts and rng.random() < 0.4:
                activation, inputs, rate = self._join(source, rate, element)
            else:
                jitter = rng.randint(1, 5) if has.jitter and rng.random() < 0.3 else 0
                if rng.random() < 0.15:
                    source = replace(source, edge=Edge(EdgeKind.LATEST))
                activation, inputs = OnMessage(Join.LATEST, "in", jitter_ns=jitter), (source,)
            self._drafts.append(_Draft(name, element, activation, inputs, rate, period))
            path.append(name)
        style = Communication.LET if has.let and rng.random() < 0.4 else Communication.IMPLICIT
        self._chains.append(CauseEffectChain(f"c{number}", tuple(path), communication=style))

    def _join(self, source: Input, rate: float, element: int) -> tuple[OnMessage, tuple[Input, ...], float]:
        """A second input, from a task or sensor of this or another pipeline."""
        rng = self._rng
        rates = {draft.name: draft.rate for draft in self._drafts}
        rates |= {sensor.name: float(sensor.rate_hz / 10**9) for sensor in self._sensors}
        kind = rng.choice((Join.ANY, Join.LATEST, Join.ALL, Join.ALL))
        partners = [name for name in rates if kind is not Join.ALL or rates[name] == rate]
        other = rng.choice(partners or list(rates))
        second = self._input("two", other, element)
        if kind is Join.LATEST:
            second = replace(second, edge=Edge(EdgeKind.LATEST), required=rng.random() < 0.3)
            return OnMessage(kind, "in"), (source, second), rate
        if kind is Join.ANY:
            return OnMessage(kind), (source, second), rate + rates[other]
        return OnMessage(kind, None, rng.choice((0, 5, 30))), (source, second), min(rate, rates[other])

    def _input(self, name: str, source: str, element: int) -> Input:
        """Over a link where the source is on another device, if there is one."""
        rng = self._rng
        places = {draft.name: draft.element for draft in self._drafts}
        sensor = source not in places
        away = rng.random() < 0.3 if sensor else self._elements[places[source]][0] != self._elements[element][0]
        link = rng.choice(self._links).name if self._links and away and rng.random() < 0.8 else None
        overflow = rng.choice((Overflow.DROP_OLDEST, Overflow.DROP_NEWEST))
        edge = Edge(EdgeKind.QUEUE, rng.choice((1, 2, 8, 8)), overflow)
        return Input(name, source, None if sensor else "out", edge, True, link, rng.randint(1, 5) if link else None)

    def _give_work(self) -> None:
        """Execution times such that each processor has a load that is drawn for it."""
        rng = self._rng
        for number, (_, element) in enumerate(self._elements):
            mine = [draft for draft in self._drafts if draft.element == number]
            if not mine:
                continue
            load = rng.choice(_LOADS) * (0.6 if element.policy is SLICED or element.cores > 1 else 1)
            cuts = sorted(rng.random() for _ in mine[1:])
            shares = [b - a for a, b in zip([0.0, *cuts], [*cuts, 1.0], strict=True)]
            for draft, share in zip(mine, shares, strict=True):
                most = 25 if draft.rate == 0 else int(load * share / draft.rate)
                draft.wcet = max(1, min(most, draft.period))

    def _locks(self) -> tuple[tuple[SharedResource, ...], dict[str, tuple[CriticalSection, ...]]]:
        """At most one section a task: on a resource of its own processor, or on one that all share."""
        rng = self._rng
        sections: dict[str, tuple[CriticalSection, ...]] = {}
        if not self._has.locks:
            return (), sections
        protocols: dict[str, Protocol] = {}
        for draft in self._drafts:
            element = self._elements[draft.element][1]
            if element.cores > 1 or element.policy is SLICED or draft.wcet < 2 or rng.random() < 0.4:
                continue
            name = rng.choice((f"r{draft.element}", "everywhere"))
            local = Protocol.PRIORITY_CEILING if element.policy in (FP, EDF) else Protocol.MSRP
            protocols[name] = Protocol.MSRP if name == "everywhere" else local
            begin = rng.randrange(draft.wcet - 1)
            sections[draft.name] = (CriticalSection(name, begin, begin + rng.randint(1, min(4, draft.wcet - begin))),)
        return tuple(SharedResource(*item) for item in protocols.items()), sections

    def _task(self, draft: _Draft, sections: tuple[CriticalSection, ...]) -> Task:
        rng, has = self._rng, self._has
        device, element = self._elements[draft.element]
        bcet = rng.choice((draft.wcet, rng.randint(1, draft.wcet)))
        least, most = rng.choice(((1.0, 1.0), (0.6, 1.0), (0.8, 3.0), (3.0, 5.0)))
        deadline = max(draft.wcet, round(draft.period * rng.uniform(least, most)))
        points: tuple[int, ...] = ()
        if element.points_only and draft.wcet > 1:
            points = tuple(sorted({rng.randint(1, draft.wcet - 1) for _ in range(rng.randint(0, 2))}))
        return Task(
            draft.name,
            "none:None",
            (),
            (device, element.name),
            draft.activation,
            draft.inputs,
            ExecutionTime(bcet, draft.wcet, (bcet, draft.wcet)),
            deadline,
            draft.period,
            sections=sections,
            preemption_points_ns=points,
            communication=Communication.LET if has.let and rng.random() < 0.3 else None,
        )

    def _with_cycle(self, element: ProcessingElement) -> ProcessingElement:
        """Slices that give every task something."""
        if element.policy is not SLICED:
            return element
        rng = self._rng
        names = [draft.name for draft in self._drafts if self._elements[draft.element][1].name == element.name]
        groups = [[name for name in names if rng.random() < 0.6] for _ in range(rng.randint(1, 2))]
        groups[0] += [name for name in names if not any(name in group for group in groups)]
        slices = tuple(TimeSlice(rng.randint(5, 15), tuple(group), rng.choice((0, 0, 1))) for group in groups if group)
        return replace(element, slices=slices or (TimeSlice(5, ()),), slack_sharing=rng.random() < 0.3)

    def _plan(self, devices: tuple[Device, ...]) -> Plan:
        """Priorities by period, or in any order."""
        rng = self._rng
        elements = [(device.name, element) for device in devices for element in device.processing_elements]
        processors = tuple(Processor(d, e.name, 0, e.policy, e.preemptive, e.cores) for d, e in elements)
        places = list(range(len(self._drafts)))
        if rng.random() < 0.5:
            rng.shuffle(places)
        else:
            places.sort(key=lambda place: self._drafts[place].period)
        level = {self._drafts[place].name: number for number, place in enumerate(places)}
        placements = tuple(Placement(draft.name, draft.element, level[draft.name]) for draft in self._drafts)
        return Plan("random", "dm", processors, placements)
