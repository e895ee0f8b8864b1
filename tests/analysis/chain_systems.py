"""Small systems with chains, for the tests of chain bounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from rt_sched import model


@dataclass(frozen=True)
class Node:
    """One task: reads `source` (None: the outside world), period T (None: activated by it), on processor `pe`."""

    name: str
    C: int
    T: int | None
    source: str | None = None
    pe: str = "p0"
    offset: int = 0
    bcet: int | None = None
    D: int | None = None
    jitter: int = 0


def chain_system(
    nodes: list[Node],
    path: tuple[str, ...],
    *,
    let: bool = False,
    sensors: tuple[model.Sensor, ...] = (),
    policies: dict[str, model.Policy] | None = None,
    preemptive: bool = True,
) -> model.System:
    """Priorities: in the order of `nodes`."""
    communication = model.Communication.LET if let else model.Communication.IMPLICIT
    periods = {sensor.name: int(10**9 / sensor.rate_hz) for sensor in sensors}
    tasks = []
    for rank, node in enumerate(nodes):
        period = node.T or periods[node.source or ""]
        periods[node.name] = period
        edge = model.Edge(model.EdgeKind.LATEST) if node.T else model.Edge(model.EdgeKind.QUEUE, 4)
        port = None if any(sensor.name == node.source for sensor in sensors) else "out"
        inputs = (model.Input("in", node.source, port, edge, required=False),) if node.source else ()
        activation: model.Activation
        if node.T:
            activation = model.Periodic(Fraction(10**9, node.T), node.offset, node.jitter)
        else:
            activation = model.OnMessage(model.Join.LATEST, "in", jitter_ns=node.jitter)
        least = node.C if node.bcet is None else node.bcet
        tasks.append(
            model.Task(
                name=node.name,
                stage="x:Y",
                parameters=(),
                pe=("box", node.pe),
                activation=activation,
                inputs=inputs,
                execution=model.ExecutionTime(least, node.C, (least, node.C)),
                deadline_ns=node.D or period,
                separation_ns=period,
                priority=rank,
            )
        )
    names = sorted({node.pe for node in nodes})
    policies = policies or {}
    elements = tuple(
        model.ProcessingElement(name, model.PEKind.CPU, 1, policies.get(name, model.Policy.FIXED_PRIORITY), preemptive)
        for name in names
    )
    chain = model.CauseEffectChain("chain", path, communication=communication)
    return model.System("s", (model.Device("box", elements),), sensors, tuple(tasks), (chain,), None, "rms", ".")
