"""How slowly a processing element may run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rt_sched.analysis.loads.load import LoadTask
from rt_sched.analysis.loads.resolve import ModeLoad, at_frequency
from rt_sched.analysis.sensitivity.execution import MILLION, TaskMargin, least_growth_ppm
from rt_sched.analysis.sensitivity.promises import Promises
from rt_sched.analysis.sensitivity.search import Search
from rt_sched.model import ProcessingElement

#: What the scheduling machine counts frequencies in.
_KHZ = 1000
#: The slowest frequency that is looked for, as a part of the present one.
_SLOWEST = 1000


@dataclass(frozen=True, slots=True)
class FrequencyMargin:
    """`pe`: "device.element". `frequency_hz`: of the mode. `smallest_hz`: the smallest one with every promise kept,
    None when there is none. `point_hz`: the smallest declared operating point that keeps them, None when none does or
    none is declared. `limited_by`: what 1 kHz less breaks; None when slower ones were not looked for.
    """

    pe: str
    frequency_hz: int
    smallest_hz: int | None
    point_hz: int | None
    limited_by: str | None


def elements_with_frequency(mode: ModeLoad) -> list[tuple[str, ProcessingElement]]:
    """Device and element of all that have tasks in this mode, or serve waits of some, and a frequency."""
    busy = {(load.processor.device, load.processor.pe) for load in mode.loads if load.tasks}
    busy |= {
        wait.on
        for task, here in zip(mode.system.tasks, mode.active, strict=True)
        for wait in (task.suspensions if here else ())
        if wait.on is not None
    }
    return [
        (device.name, pe)
        for device in mode.system.devices
        for pe in device.processing_elements
        if pe.frequency_hz is not None and (device.name, pe.name) in busy
    ]


def frequency_margin(
    mode: ModeLoad, promises: Promises, device: str, pe: ProcessingElement, margins: Sequence[TaskMargin]
) -> FrequencyMargin:
    """The margin of one element, all others as they are; where promises are broken now, faster ones are looked for.
    `margins`: of tasks, where they are known.

    Compute work, sections, waits and preemption points move as the scheduling kernel moves them; memory-bound work,
    switches and budgets stay. A slower element also delays its *first* messages, and where inputs are paired that may
    shorten the jitter of what follows. The search leaves the earliest messages where they are at its fastest
    frequency: then everything that counts only grows as the element slows down, up to the rounding of offsets inside
    jobs, and the bounds hold all the more for the true, later ones.
    """
    present_hz = pe.frequency_hz or 0
    points = [point.frequency_hz for point in pe.operating_points]
    point_hz = next(
        (hz for hz in points if promises.broken(at_frequency(mode, device, pe.name, hz)) is None),
        None,
    )
    fastest_hz = max([present_hz, *points]) if promises.broken_now else present_hz
    fastest = at_frequency(mode, device, pe.name, fastest_hz)
    least_ns = {task.index: task.bcet_ns for task in _tasks_on(fastest, device, pe.name)}

    def broken(khz: int) -> str | None:
        return promises.broken(_with_earliest(at_frequency(mode, device, pe.name, khz * _KHZ), least_ns))

    search = Search(broken)
    name, fastest_khz = f"{device}.{pe.name}", fastest_hz // _KHZ
    if not search.holds(fastest_khz):
        return FrequencyMargin(name, present_hz, None, point_hz, search.reason(fastest_khz))
    slowest_khz = max(1, present_hz // _KHZ // _SLOWEST)
    names = {task.name for task in _tasks_on(mode, device, pe.name)}
    growth_ppm = least_growth_ppm([one for one in margins if one.task in names])
    guess_khz = None if promises.broken_now else -(-fastest_khz * MILLION // growth_ppm)
    found_khz = search.smallest(slowest_khz, fastest_khz, guess_khz)
    reason = None if found_khz == slowest_khz else search.reason(found_khz - 1)
    return FrequencyMargin(name, present_hz, found_khz * _KHZ, point_hz, reason)


def _tasks_on(mode: ModeLoad, device: str, pe: str) -> Iterator[LoadTask]:
    return (
        task for load in mode.loads if (load.processor.device, load.processor.pe) == (device, pe) for task in load.tasks
    )


def _with_earliest(mode: ModeLoad, least_ns: dict[int, int]) -> ModeLoad:
    """Jobs may be as short as these, by index of their task."""
    loads = tuple(
        replace(
            load,
            tasks=tuple(
                replace(task, bcet_ns=min(task.bcet_ns, least_ns.get(task.index, task.bcet_ns))) for task in load.tasks
            ),
        )
        for load in mode.loads
    )
    return replace(mode, loads=loads)
