"""Systems on chip that a system file can name, with the processing elements that each power mode leaves on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from rt_sched.model import PEKind, Policy, ProcessingElement

MHZ = 1_000_000


@dataclass(frozen=True, slots=True)
class PowerMode:
    """One power mode. `online_cores`: per processing element, where fewer than all are on.

    The maximum clocks are in hertz, at which the elements run in this mode; None where that is not known.
    """

    name: str
    online_cores: Mapping[str, int]
    cpu_max_hz: int | None = None
    gpu_max_hz: int | None = None
    dla_max_hz: int | None = None
    memory_max_hz: int | None = None


@dataclass(frozen=True, slots=True)
class SocModel:
    """A chip: its processing elements with every core on, and its power modes by name."""

    name: str
    description: str
    processing_elements: tuple[ProcessingElement, ...]
    power_modes: Mapping[str, PowerMode]
    default_power_mode: str


def processing_elements_in(soc: SocModel, power_mode: str) -> tuple[ProcessingElement, ...]:
    """The processing elements with the cores that `power_mode` leaves on, at its clocks; KeyError for unknown modes."""
    mode = soc.power_modes[power_mode]
    max_hz = {PEKind.CPU: mode.cpu_max_hz, PEKind.GPU: mode.gpu_max_hz, PEKind.DLA: mode.dla_max_hz}
    return tuple(
        replace(pe, cores=mode.online_cores.get(pe.name, pe.cores), frequency_hz=max_hz.get(pe.kind))
        for pe in soc.processing_elements
    )


def _modes(*modes: PowerMode) -> Mapping[str, PowerMode]:
    return MappingProxyType({mode.name: mode for mode in modes})


# Cores and clocks per mode: nvpmodel configuration of the AGX Orin developer kit (p3701-0000), as NVIDIA publishes it
# with Jetson Linux. Three clusters of four Cortex-A78AE are one processing element here: the cores are equal.
# GPU and DLA run one job to its end; fixed priority lets an urgent job overtake those that wait.
AGX_ORIN = SocModel(
    name="agx-orin",
    description="NVIDIA Jetson AGX Orin (p3701): 12 Cortex-A78AE, Ampere GPU, two DLA 2.0",
    processing_elements=(
        ProcessingElement("cpu", PEKind.CPU, 12, Policy.FIXED_PRIORITY, preemptive=True),
        ProcessingElement("gpu", PEKind.GPU, 1, Policy.FIXED_PRIORITY, preemptive=False),
        ProcessingElement("dla0", PEKind.DLA, 1, Policy.FIXED_PRIORITY, preemptive=False),
        ProcessingElement("dla1", PEKind.DLA, 1, Policy.FIXED_PRIORITY, preemptive=False),
    ),
    power_modes=_modes(
        PowerMode("MAXN", {"cpu": 12}, cpu_max_hz=2_201_600_000, gpu_max_hz=1_300_500_000, dla_max_hz=1600 * MHZ),
        PowerMode("50W", {"cpu": 12}, cpu_max_hz=1_497_600_000, gpu_max_hz=816 * MHZ, dla_max_hz=1_369_600_000),
        PowerMode("30W", {"cpu": 8}, cpu_max_hz=1728 * MHZ, gpu_max_hz=612 * MHZ, dla_max_hz=1_369_600_000),
        PowerMode(
            "15W",
            {"cpu": 4},
            cpu_max_hz=1_113_600_000,
            gpu_max_hz=408 * MHZ,
            dla_max_hz=614_400_000,
            memory_max_hz=2133 * MHZ,
        ),
    ),
    default_power_mode="MAXN",
)

# Two lock-step cores count as one: the second only checks the first.
SAFETY_MCU = SocModel(
    name="safety-mcu",
    description="A lock-step microcontroller of the Cortex-R class next to the actuators: one core that computes",
    processing_elements=(ProcessingElement("mcu", PEKind.MCU, 1, Policy.FIXED_PRIORITY, preemptive=True),),
    power_modes=_modes(PowerMode("RUN", {"mcu": 1})),
    default_power_mode="RUN",
)

#: Every chip by the name that a system file uses.
SOC_CATALOGUE: Mapping[str, SocModel] = MappingProxyType({soc.name: soc for soc in (AGX_ORIN, SAFETY_MCU)})
