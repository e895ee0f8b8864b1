"""How much faster a sensor may deliver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.sensitivity.execution import MILLION, MOST_PPM
from rt_sched.analysis.sensitivity.promises import Promises
from rt_sched.analysis.sensitivity.search import Search
from rt_sched.lowering.machine_input import Role
from rt_sched.model import Sensor


@dataclass(frozen=True, slots=True)
class RateMargin:
    """`name`: a sensor, or a trigger with all `sensors` behind it. `rate_hz`: the declared rate.

    `scaling_ppm`: the largest factor, in parts of a million, by which it may grow with every promise kept, None for the
    `reason`. `limited_by`: what a larger one breaks, None at the largest factor that is looked for.
    """

    name: str
    sensors: tuple[str, ...]
    rate_hz: Fraction
    scaling_ppm: int | None
    limited_by: str | None
    reason: str = ""


def rate_groups(mode: ModeLoad) -> list[tuple[str, tuple[int, ...]]]:
    """Triggers and free-running sensors that some task of the mode reads, with the indices of their sensors."""
    read = {edge.sensor for edge in mode.setup.edges if edge.sensor is not None and mode.active[edge.target]}
    groups: dict[str, list[int]] = {}
    for index, sensor in enumerate(mode.system.sensors):
        groups.setdefault(sensor.trigger or sensor.name, []).append(index)
    return [(name, tuple(mine)) for name, mine in groups.items() if read.intersection(mine)]


def rate_margin(mode: ModeLoad, promises: Promises, name: str, mine: Sequence[int]) -> RateMargin:
    """The margin of the sensors `mine`, which go faster together; all else is as it is, deadlines and clocks included.

    A faster sensor loads its readers and links more and more, but a chain also waits less for its next sample, so that
    a reaction may grow and shrink again. The search lets chains wait for samples as long as at the declared rate:
    then every bound only grows with the rate, and holds all the more for the shorter waits.
    """
    sensors = mode.system.sensors
    names, rate_hz = tuple(sensors[index].name for index in mine), sensors[mine[0]].rate_hz
    other = _paired_with(mode, mine)
    if other is not None:
        return RateMargin(name, names, rate_hz, None, None, f"{other} pairs its messages with those of others")
    search = Search(lambda ppm: promises.broken(with_rates(mode, mine, ppm), waits_as_declared=True))
    found = search.largest(MILLION, MOST_PPM)
    reason = None if found == MOST_PPM else search.reason(found + 1)
    return RateMargin(name, names, rate_hz, found, reason)


def with_rates(mode: ModeLoad, mine: Sequence[int], ppm: int) -> ModeLoad:
    """The mode with the sensors `mine` at `ppm` / 10**6 of their rates."""

    def change(index: int, sensor: Sensor) -> Sensor:
        return replace(sensor, rate_hz=sensor.rate_hz * Fraction(ppm, MILLION)) if index in mine else sensor

    sensors = tuple(change(index, sensor) for index, sensor in enumerate(mode.system.sensors))
    return replace(mode, system=replace(mode.system, sensors=sensors))


def _paired_with(mode: ModeLoad, mine: Sequence[int]) -> str | None:
    """A task that pairs messages of `mine` with messages that would not come faster with them."""
    rows, edges = mode.setup.tasks, mode.setup.edges

    def origins(number: int) -> set[int | str]:
        """Sensors and clocks that make the messages of edge `number` come."""
        edge = edges[number]
        if edge.sensor is not None:
            return {edge.sensor}
        source = edge.task or 0
        if rows[source].timed:
            return {rows[source].name}
        activating = [i for i, one in enumerate(edges) if one.target == source and one.role is not Role.READ]
        return set().union(*(origins(i) for i in activating))

    for index, row in enumerate(rows):
        paired = [i for i, e in enumerate(edges) if e.target == index and e.role is Role.PAIRED and mode.active[index]]
        found = set().union(*(origins(i) for i in paired)) if paired else set()
        if found.intersection(mine) and not found.issubset(mine):
            return row.name
    return None
