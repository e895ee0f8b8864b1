"""Random task graphs behind one camera or timer, with processors of their own."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from hand_made import element, planned, task

from rt_sched import model
from rt_sched.model import Edge, EdgeKind, Input, Join, OnMessage, Periodic, Plan, Policy, Sensor, SensorKind, System

FP, EDF, FIFO = Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO


def message(name: str, source: str, *, read: bool = False) -> Input:
    kind = EdgeKind.LATEST if read else EdgeKind.QUEUE
    port = None if source.startswith("cam") else "out"
    return Input(name, source, port, Edge(kind, 1 if read else 8), not read)


def vertex(name: str, wcet: int, sources: list[str], *, bcet: int | None = None, **more: object) -> model.Task:
    """Set off by a message from each source."""
    inputs = tuple(message(f"in{i}", source) for i, source in enumerate(sources))
    join, primary = (Join.ALL, None) if len(sources) > 1 else (Join.LATEST, "in0")
    own = {"activation": OnMessage(join, primary), "inputs": inputs} | more
    made = task(name, wcet, 1000, **own)
    return replace(made, execution=model.ExecutionTime(bcet or wcet, wcet, (bcet or wcet, wcet)))


def camera(period: int, latency: int = 3, jitter: int = 0) -> Sensor:
    rate = Fraction(10**9, period)
    return Sensor("cam", SensorKind.CAMERA, rate, ("d",), ("/cam",), latency_ns=latency, jitter_ns=jitter)


def random_graph(rng: np.random.Generator) -> tuple[System, Plan]:
    """A graph of up to eight tasks behind a camera or a timer, on one or two processors of one to three cores."""
    elements = [
        element(f"p{n}", (FP, FP, EDF, FIFO)[rng.integers(4)], preemptive=bool(rng.random() < 0.7), cores=int(m))
        for n, m in enumerate(rng.integers(1, 4, int(rng.integers(1, 3))))
    ]
    timed = rng.random() < 0.5
    period, tasks, names = int(rng.integers(20, 90)), [], ["cam"]
    for number in range(int(rng.integers(2, 9))):
        wcet = int(rng.integers(1, 7))
        pe = elements[int(rng.integers(len(elements)))].name
        count = min(len(names), int(rng.choice([1, 1, 2, 3])))
        sources = [str(name) for name in rng.choice(names, count, replace=False)]
        more: dict[str, object] = {"pe": pe, "deadline_ns": int(rng.integers(5, 60))}
        if number == 0 and timed:
            jitter = int(rng.choice([0, 0, 5]))
            activation = Periodic(Fraction(10**9, period), int(rng.integers(0, 9)), jitter)
            made = replace(task("t0", wcet, period), activation=activation, pe=("d", pe))
            names = []
        else:
            made = vertex(f"t{number}", wcet, sources, bcet=int(rng.integers(1, wcet + 1)), **more)
        tasks.append(made)
        names.append(made.name)
    levels = dict(zip((t.name for t in tasks), (int(x) for x in rng.permutation(len(tasks))), strict=True))
    sensors = () if timed else (camera(period, 3, int(rng.choice([0, 3]))),)
    return planned(elements, tasks, sensors=sensors, levels=levels)


def graph_with_chain(seed: int) -> tuple[System, Plan]:
    """A random graph with a chain from its source to one of its last tasks."""
    system, plan = random_graph(np.random.default_rng(seed))
    before = {one.name: [given.source for given in one.inputs] for one in system.tasks}
    path = [system.tasks[-1].name]
    while before.get(path[0]):
        path.insert(0, before[path[0]][0])
    chain = model.CauseEffectChain("graph", tuple(path), communication=model.Communication.IMPLICIT)
    return replace(system, chains=(chain,) if len(path) > 1 else ()), plan
