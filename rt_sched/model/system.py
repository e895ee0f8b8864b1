"""The whole system as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass

from rt_sched.model.chain import CauseEffectChain
from rt_sched.model.platform import Device
from rt_sched.model.safety import SafetyConcept
from rt_sched.model.sensor import Sensor
from rt_sched.model.task import Task


@dataclass(frozen=True, slots=True)
class System:
    """Devices, sensors, tasks and chains. Names are unique over sensors and tasks together, and over devices.

    `policy`: the priority assignment the file asks for: rms, dm or edf. `base_dir`: folder of the file.
    """

    name: str
    devices: tuple[Device, ...]
    sensors: tuple[Sensor, ...]
    tasks: tuple[Task, ...]
    chains: tuple[CauseEffectChain, ...]
    safety: SafetyConcept | None
    policy: str
    base_dir: str
