"""System and Plan as frozen, validated data without behaviour. Times are integer nanoseconds, rates exact fractions."""

from rt_sched.model.chain import CauseEffectChain
from rt_sched.model.fault import Fault, FaultKind
from rt_sched.model.plan import Placement, Plan, Processor
from rt_sched.model.platform import Device, PEKind, Policy, ProcessingElement
from rt_sched.model.safety import SafetyConcept
from rt_sched.model.sensor import ArrivalClock, Calibration, Sensor, SensorKind
from rt_sched.model.system import System
from rt_sched.model.task import (
    Criticality,
    DeadlineAction,
    Edge,
    EdgeKind,
    ExecutionTime,
    Input,
    Join,
    OnMessage,
    Overflow,
    Periodic,
    Task,
)

__all__ = [
    "ArrivalClock",
    "Calibration",
    "CauseEffectChain",
    "Criticality",
    "DeadlineAction",
    "Device",
    "Edge",
    "EdgeKind",
    "ExecutionTime",
    "Fault",
    "FaultKind",
    "Input",
    "Join",
    "OnMessage",
    "Overflow",
    "PEKind",
    "Periodic",
    "Placement",
    "Plan",
    "Policy",
    "ProcessingElement",
    "Processor",
    "SafetyConcept",
    "Sensor",
    "SensorKind",
    "System",
    "Task",
]
