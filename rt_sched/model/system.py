"""The whole system as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass

from rt_sched.model.chain import CauseEffectChain
from rt_sched.model.deployment import Deployment
from rt_sched.model.fault import FaultScenario
from rt_sched.model.mode import Mode
from rt_sched.model.platform import Device, Link
from rt_sched.model.requirement import Requirement
from rt_sched.model.resource import SharedResource
from rt_sched.model.safety import SafetyConcept
from rt_sched.model.sensor import Sensor, Trigger
from rt_sched.model.task import Task


@dataclass(frozen=True, slots=True)
class System:
    """Devices, sensors, tasks and chains. Names are unique over sensors and tasks together, and over devices.

    `policy`: the priority assignment the file asks for: rms, dm, opa or edf. `base_dir`: folder of the file.
    `modes`: a run begins in the first; without any, all tasks exist throughout. `deployments`: where a
    host runs the elements, for paced runs.
    """

    name: str
    devices: tuple[Device, ...]
    sensors: tuple[Sensor, ...]
    tasks: tuple[Task, ...]
    chains: tuple[CauseEffectChain, ...]
    safety: SafetyConcept | None
    policy: str
    base_dir: str
    resources: tuple[SharedResource, ...] = ()
    links: tuple[Link, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    modes: tuple[Mode, ...] = ()
    fault_scenarios: tuple[FaultScenario, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    deployments: tuple[Deployment, ...] = ()
