"""Mean power of a plan: what its elements draw while their cores work, and while they are on.

An element in use draws its idle power all the time, and each core that works its share of the difference to the power
at which all cores work: P = P_idle + (P_busy - P_idle) * (busy cores / cores). An element without a task is off. The
busy time is that of worst-case execution times, so the figure is an upper estimate of the long-run mean.

Where not every element says its power, supply voltages stand in for it: the dynamic power of CMOS is proportional to
voltage squared times frequency, which compares elements only as far as they switch equally much. Where voltages are
missing as well, one busy core counts as much as any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rt_sched.model import ProcessingElement, System

#: What a busy core counts where nothing is declared.
_UNIT_MW = 1000


@dataclass(frozen=True, slots=True)
class ElementPower:
    """`busy_mw`: more than idle, for each core that works; `idle_mw`: of the element, when it has a task."""

    busy_mw: int
    idle_mw: int


@dataclass(frozen=True, slots=True)
class EnergyModel:
    """`name`: `power`, `voltage` or `busy_time`, by what is declared; only the first has a true unit."""

    name: str
    text: str
    of: Mapping[tuple[str, str], ElementPower]


def energy_model(system: System) -> EnergyModel:
    """The most telling model for which every element that some task may run on declares enough."""
    elements = {(device.name, pe.name): pe for device in system.devices for pe in device.processing_elements}
    used = {place for task in system.tasks for place in (task.pe, *task.candidates)}
    open_elements = [elements[place] for place in used]
    if all(one.busy_power_mw is not None for one in open_elements):
        return EnergyModel(
            "power",
            "declared idle and busy power, in mW",
            {place: _declared(one) for place, one in elements.items()},
        )
    if all(_voltage_uv(one) is not None for one in open_elements):
        return EnergyModel(
            "voltage",
            "voltage squared times frequency, in V2 MHz: not every element declares busy_power",
            {place: ElementPower(_dynamic(one), 0) for place, one in elements.items()},
        )
    return EnergyModel(
        "busy_time",
        "busy cores, in thousandths: not every element declares busy_power, or the voltage of its frequency",
        {place: ElementPower(_UNIT_MW, 0) for place in elements},
    )


def _declared(element: ProcessingElement) -> ElementPower:
    idle_mw = element.idle_power_mw or 0
    return ElementPower(-(-max(0, (element.busy_power_mw or 0) - idle_mw) // element.cores), idle_mw)


def _voltage_uv(element: ProcessingElement) -> int | None:
    points = (one for one in element.operating_points if one.frequency_hz == element.frequency_hz)
    return next((one.voltage_uv for one in points), None)


def _dynamic(element: ProcessingElement) -> int:
    voltage_uv, frequency_hz = _voltage_uv(element) or 0, element.frequency_hz or 0
    return voltage_uv**2 * frequency_hz // 10**18
