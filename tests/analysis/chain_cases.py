"""Random systems with chains of every kind: event-driven, time-triggered and mixed, over several devices.

One tick is one nanosecond. A chain leads from a sensor or timed task through registers, queues that a timed task
reads, and joins; tasks communicate implicitly or by LET; clocks drift and are off; links are shared.
"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

from rt_sched import model
from rt_sched.model import Communication, Edge, EdgeKind, Input, Join, OnMessage, Periodic, Policy, Sporadic

_PERIODS = (12, 15, 20, 24, 30, 40, 60)
_POLICIES = (
    *[(Policy.FIXED_PRIORITY, True)] * 4,
    (Policy.FIXED_PRIORITY, False),
    (Policy.EDF, True),
    (Policy.EDF, False),
    (Policy.FIFO, False),
)


def chain_case(seed: int) -> model.System:
    """System `seed`: one to three devices, one or two chains, and tasks that feed their joins."""
    return _Maker(random.Random(seed)).system()  # noqa: S311 - reproducible test data


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._exact = rng.random() < 0.5
        self._periodic = rng.random() < 0.6
        self._mixed = rng.random() < 0.6
        self._let = rng.choice((0.0, 0.0, 0.3, 1.0))
        self._tasks: list[model.Task] = []
        self._period: dict[str, int] = {}

    def system(self) -> model.System:
        rng = self._rng
        self._devices = tuple(self._device(number) for number in range(rng.choice((1, 1, 2, 3))))
        self._places = [(d.name, pe.name) for d in self._devices for pe in d.processing_elements]
        self._links = (model.Link("net", Fraction(10**9), rng.choice((0, 2))),) if rng.random() < 0.5 else ()
        self._sensors = tuple(self._sensor(number) for number in range(rng.randint(1, 3)))
        chains = tuple(self._chain(number) for number in range(rng.randint(1, 2)))
        ranks = rng.sample(range(len(self._tasks)), len(self._tasks))
        tasks = tuple(replace(task, priority=rank) for task, rank in zip(self._tasks, ranks, strict=True))
        order = rng.sample(range(len(tasks)), len(tasks))
        return model.System(
            "chains",
            self._devices,
            self._sensors,
            tuple(tasks[place] for place in order),
            chains,
            None,
            "rms",
            ".",
            links=self._links,
        )

    def _device(self, number: int) -> model.Device:
        rng = self._rng
        drift = Fraction(0) if self._exact else Fraction(rng.choice((0, 0, 20_000, -50_000)))
        error = 0 if rng.random() < 0.5 else rng.randint(1, 8)
        clock = model.DeviceClock(drift, rng.randint(8, 20), error)
        elements = []
        for place in range(rng.choice((1, 1, 2))):
            policy, preemptive = rng.choice(_POLICIES)
            elements.append(model.ProcessingElement(f"p{place}", model.PEKind.CPU, 1, policy, preemptive))
        return model.Device(f"d{number}", tuple(elements), clock=clock)

    def _sensor(self, number: int) -> model.Sensor:
        rng = self._rng
        period = rng.choice(_PERIODS)
        self._period[f"s{number}"] = period
        rate = Fraction(10**9, period) if rng.random() < 0.7 else Fraction(3 * 10**9, 3 * period + 1)
        return model.Sensor(
            f"s{number}",
            model.SensorKind.CAMERA,
            rate,
            (rng.choice(self._devices).name,),
            (),
            rng.randint(0, 30),
            rng.randint(0, 6),
            rng.choice((0, 0, 3)),
            drift_ppm=Fraction(0) if self._exact else Fraction(rng.choice((0, 30_000, -30_000))),
            capture_jitter_ns=rng.choice((0, 0, 0, 3)),
        )

    def _chain(self, number: int) -> model.CauseEffectChain:
        rng = self._rng
        path: list[str] = []
        if rng.random() < 0.6:
            path.append(rng.choice(self._sensors).name)
        else:
            path.append(self._timed(f"c{number}_0", ()))
        for place in range(1, rng.randint(2, 5)):
            name, before = f"c{number}_{place}", path[-1]
            kinds = ("register", "event", "event", "any", "all", "queue", "beside") if self._mixed else ("register",)
            path.append(getattr(self, f"_{rng.choice(kinds)}")(name, before))
        style = Communication.LET if self._let == 1.0 else Communication.IMPLICIT
        return model.CauseEffectChain(f"chain{number}", tuple(path), communication=style)

    def _register(self, name: str, before: str) -> str:
        inputs = [self._input("in", before, Edge(EdgeKind.LATEST), self._rng.random() < 0.3)]
        if self._rng.random() < 0.3:
            inputs.append(self._input("more", self._other(before), Edge(EdgeKind.LATEST), self._rng.random() < 0.2))
        return self._timed(name, tuple(inputs))

    def _queue(self, name: str, before: str) -> str:
        depth = self._rng.randint(1, 3)
        overflow = self._rng.choice(list(model.Overflow))
        edge = Edge(EdgeKind.QUEUE, depth, overflow)
        return self._timed(
            name, (self._input("in", before, edge, self._rng.random() < 0.5),), most=self._period[before]
        )

    def _event(self, name: str, before: str) -> str:
        return self._activated(name, Join.LATEST, (self._input("in", before, Edge(EdgeKind.QUEUE, 4)),))

    def _any(self, name: str, before: str) -> str:
        edges = [Edge(self._rng.choice((EdgeKind.QUEUE, EdgeKind.QUEUE)), 4) for _ in range(2)]
        inputs = [self._input("in", before, edges[0]), self._input("also", self._other(before), edges[1])]
        if self._rng.random() < 0.3:
            inputs.append(self._input("more", self._other(before), Edge(EdgeKind.LATEST), required=False))
        inputs = [replace(one, required=False) for one in inputs]
        self._rng.shuffle(inputs)
        return self._activated(name, Join.ANY, tuple(inputs))

    def _all(self, name: str, before: str) -> str:
        period = self._period[before]
        partners = [one for one, own in self._period.items() if own == period and one != before]
        if not partners:
            return self._event(name, before)
        inputs = (
            self._input("in", before, Edge(EdgeKind.QUEUE, 4)),
            self._input("also", self._rng.choice(partners), Edge(EdgeKind.QUEUE, 4)),
        )
        return self._activated(name, Join.ALL, inputs, self._rng.choice((period, 2 * period)))

    def _beside(self, name: str, before: str) -> str:
        """Read by a task that another message activates."""
        kind = self._rng.choice((EdgeKind.LATEST, EdgeKind.LATEST, EdgeKind.QUEUE))
        inputs = (
            self._input("also", self._other(before), Edge(EdgeKind.QUEUE, 4)),
            self._input("in", before, Edge(kind, self._rng.randint(1, 3)), self._rng.random() < 0.3),
        )
        return self._activated(name, Join.LATEST, inputs)

    def _other(self, than: str) -> str:
        return self._rng.choice([one for one in self._period if one != than] or [self._sensors[0].name])

    def _input(self, name: str, source: str, edge: Edge, required: bool = True) -> Input:
        port = None if source.startswith("s") else "out"
        link = "net" if self._links and self._rng.random() < 0.3 else None
        return Input(name, source, port, edge, required, link, self._rng.randint(1, 3) if link else None)

    def _timed(self, name: str, inputs: tuple[Input, ...], most: int = 60) -> str:
        rng = self._rng
        period = rng.choice([one for one in _PERIODS if one <= max(most, 12)])
        activation: model.Activation
        jitter = rng.choice((0, 0, 0, 4))
        if self._periodic or rng.random() < 0.7:
            rate = Fraction(10**9, period) if rng.random() < 0.8 else Fraction(3 * 10**9, 3 * period + 1)
            activation = Periodic(rate, rng.randint(0, 40), jitter)
        else:
            activation = Sporadic(period, period + rng.choice((0, 5, 20)), 0, jitter)
        return self._add(name, activation, inputs, period)

    def _activated(self, name: str, join: Join, inputs: tuple[Input, ...], tolerance: int = 0) -> str:
        primary = inputs[0].name if join is Join.LATEST else None
        active = [one for one in inputs if one.edge.kind is EdgeKind.QUEUE]
        sources = [inputs[0]] if join is Join.LATEST else active
        period = min(self._period[one.source] for one in sources)
        jitter = self._rng.choice((0, 0, 3))
        return self._add(name, OnMessage(join, primary, tolerance, jitter), inputs, period)

    def _add(self, name: str, activation: model.Activation, inputs: tuple[Input, ...], period: int) -> str:
        rng = self._rng
        wcet = rng.randint(1, max(1, period // 6))
        bcet = rng.choice((wcet, rng.randint(1, wcet)))
        let = rng.random() < self._let
        self._period[name] = period
        self._tasks.append(
            model.Task(
                name=name,
                stage="none:None",
                parameters=(),
                pe=rng.choice(self._places),
                activation=activation,
                inputs=inputs,
                execution=model.ExecutionTime(bcet, wcet, (bcet, wcet)),
                deadline_ns=rng.choice((period, period, 2 * period)),
                separation_ns=period,
                communication=Communication.LET if let and self._let < 1 else None,
            )
        )
        return name
