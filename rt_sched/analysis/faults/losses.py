"""What is left of a mode when a fault has struck.

Nothing is added where something is lost: processors that go on see fewer jobs, and no method counts less for fewer
arrivals or earlier ends of others. So all bounds of the mode before hold at and after the loss, and what is left can
only have lower ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rt_sched import model
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.lowering.changes import losses_of
from rt_sched.lowering.losses import lost_devices, lost_links, lost_sensors
from rt_sched.lowering.machine_input import Role
from rt_sched.trace.setup import EdgeRow


@dataclass(frozen=True, slots=True)
class Loss:
    """What a fault takes from one mode, for good.

    `silent`: sensors that send nothing more; `untrue`: sensors whose messages are repeated or damaged, and arrive as
    before. `links`: those that carry nothing more. `dead`: index of a task without any more jobs -> why. `stale`: index
    of a task that goes on with what it has read last -> the inputs that bring nothing new.
    """

    silent: frozenset[str]
    untrue: frozenset[str]
    links: frozenset[str]
    dead: dict[int, str]
    stale: dict[int, tuple[str, ...]]

    @property
    def sensors(self) -> frozenset[str]:
        """Sensors that no longer show what is outside."""
        return self.silent | self.untrue


def loss_of(mode: ModeLoad, scenario: model.FaultScenario) -> Loss:
    """What `scenario` takes from `mode`; nothing for an overrun."""
    faults = losses_of(mode.system, scenario)
    untrue = scenario.effect in (model.FaultEffect.FREEZE, model.FaultEffect.CORRUPT)
    return _follow(
        mode,
        frozenset(lost_sensors(mode.system, faults)),
        frozenset({scenario.target} if untrue else ()),
        frozenset(lost_links(faults)),
        frozenset(lost_devices(faults)),
    )


def loss_of_faults(mode: ModeLoad, faults: Sequence[model.Fault]) -> Loss:
    """What losses take from `mode` that happen all at one time."""
    return _follow(
        mode,
        frozenset(lost_sensors(mode.system, faults)),
        frozenset(),
        frozenset(lost_links(faults)),
        frozenset(lost_devices(faults)),
    )


def _follow(
    mode: ModeLoad, silent: frozenset[str], untrue: frozenset[str], links: frozenset[str], devices: frozenset[str]
) -> Loss:
    """The loss with every task that falls silent because of it."""
    dead = {
        index: f"its device {processor.device} is lost"
        for processor, load in zip(mode.plan.processors, mode.loads, strict=True)
        if processor.device in devices
        for index in (task.index for task in load.tasks)
    }
    loss = Loss(silent, untrue, links, dead, {})
    while True:
        starved = {
            index: reason
            for index in range(len(mode.active))
            if mode.active[index] and index not in dead and (reason := _why_starved(mode, loss, index))
        }
        if not starved:
            return replace(loss, stale=_stale(mode, loss))
        dead |= starved


def edge_is_cut(mode: ModeLoad, loss: Loss, edge: EdgeRow) -> bool:
    """Whether nothing comes over the edge any more."""
    if edge.link is not None and mode.setup.links[edge.link].name in loss.links:
        return True
    if edge.sensor is not None:
        return mode.setup.sensors[edge.sensor] in loss.silent
    return edge.task in loss.dead or not mode.active[edge.task or 0]


def _why_starved(mode: ModeLoad, loss: Loss, index: int) -> str | None:
    """Why nothing activates a task any more; None when something does."""
    if mode.setup.tasks[index].timed:
        return None
    edges = [edge for _, edge in mode.into.get(index, ()) if edge.role is not Role.READ]
    cut = [edge for edge in edges if edge_is_cut(mode, loss, edge)]
    paired = any(edge.role is Role.PAIRED for edge in edges)
    if not cut or (len(cut) < len(edges) and not paired):
        return None
    names = ", ".join(dict.fromkeys(_source(mode, edge) for edge in cut))
    return f"{names} {'no longer brings' if len(cut) == 1 else 'no longer bring'} what activates it"


def _source(mode: ModeLoad, edge: EdgeRow) -> str:
    if edge.link is not None and edge.sensor is None:
        return f"{mode.setup.tasks[edge.task or 0].name} over {mode.setup.links[edge.link].name}"
    return _source_name(mode, edge)


def _stale(mode: ModeLoad, loss: Loss) -> dict[int, tuple[str, ...]]:
    """Inputs of tasks that go on, which bring nothing new."""
    stale: dict[int, tuple[str, ...]] = {}
    for edge in mode.setup.edges:
        alive = mode.active[edge.target] and edge.target not in loss.dead
        was_fed = edge.task is None or mode.active[edge.task]
        if alive and was_fed and edge_is_cut(mode, loss, edge):
            stale[edge.target] = (*stale.get(edge.target, ()), edge.input)
    return stale


def surviving(mode: ModeLoad, loss: Loss) -> ModeLoad:
    """The mode without what is lost.

    Where messages with old stamps are paired, any message may be the last of a pair, so pairs are counted like them.
    """
    loads = tuple(
        replace(load, tasks=tuple(task for task in load.tasks if task.index not in loss.dead)) for load in mode.loads
    )
    active = tuple(one and index not in loss.dead for index, one in enumerate(mode.active))
    touched = _touched(mode, loss.untrue)
    edges = tuple(
        replace(edge, role=Role.EACH) if edge.role is Role.PAIRED and edge.target in touched else edge
        for edge in mode.setup.edges
        if not edge_is_cut(mode, loss, edge)
    )
    return replace(mode, setup=replace(mode.setup, edges=edges), active=active, loads=loads)


def _touched(mode: ModeLoad, sensors: frozenset[str]) -> set[int]:
    """Tasks that anything of these sensors reaches."""
    touched: set[int] = set()
    while sensors:
        more = {
            edge.target
            for edge in mode.setup.edges
            if (edge.task in touched if edge.sensor is None else mode.setup.sensors[edge.sensor] in sensors)
        }
        if more <= touched:
            return touched
        touched |= more
    return touched


def passes(mode: ModeLoad, loss: Loss, path: tuple[str, ...]) -> bool:
    """Whether what a chain along `path` brings is still new and true: no sensor, task or link on it is lost."""
    index_of = {row.name: index for index, row in enumerate(mode.setup.tasks)}
    # What is repeated or damaged finds no partner.
    broken = {row for row in _touched(mode, loss.untrue) if _pairs(mode, row)}
    if path[0] in loss.sensors or any(index_of.get(name) in broken for name in path):
        return False
    if any(index_of[name] in loss.dead or not mode.active[index_of[name]] for name in path if name in index_of):
        return False
    return all(
        any(
            _source_name(mode, edge) == source and not edge_is_cut(mode, loss, edge)
            for _, edge in mode.into.get(index_of[target], ())
        )
        for source, target in pairwise(path)
    )


def _pairs(mode: ModeLoad, index: int) -> bool:
    return any(edge.role is Role.PAIRED for _, edge in mode.into.get(index, ()))


def _source_name(mode: ModeLoad, edge: EdgeRow) -> str:
    return mode.setup.sensors[edge.sensor] if edge.sensor is not None else mode.setup.tasks[edge.task or 0].name
