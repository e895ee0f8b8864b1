"""System and Plan as frozen, validated data without behaviour. Times are integer nanoseconds, rates exact fractions."""

from rt_sched.model.chain import CauseEffectChain
from rt_sched.model.execution import Budget, ExecutionTime, OverrunAction, Suspension
from rt_sched.model.fault import Fault, FaultEffect, FaultKind, FaultScenario
from rt_sched.model.mode import Frequency, FrequencyChange, Mode, ModeChange
from rt_sched.model.plan import Placement, Plan, Processor
from rt_sched.model.platform import (
    Device,
    DeviceClock,
    Link,
    OperatingPoint,
    PEKind,
    Policy,
    Preemption,
    ProcessingElement,
    Scheduling,
    TableEntry,
    TimeSlice,
)
from rt_sched.model.resource import CriticalSection, Protocol, SharedResource
from rt_sched.model.safety import SafetyConcept
from rt_sched.model.sensor import ArrivalClock, Calibration, Sensor, SensorKind, Trigger
from rt_sched.model.system import System
from rt_sched.model.task import (
    Activation,
    Communication,
    Criticality,
    CriticalityLevel,
    DeadlineAction,
    Edge,
    EdgeKind,
    Input,
    Join,
    OnMessage,
    Overflow,
    Periodic,
    Sporadic,
    Task,
)
from rt_sched.model.task_set import ArrivalCurve, SetTask, TaskSet

__all__ = [
    "Activation",
    "ArrivalClock",
    "ArrivalCurve",
    "Budget",
    "Calibration",
    "CauseEffectChain",
    "Communication",
    "CriticalSection",
    "Criticality",
    "CriticalityLevel",
    "DeadlineAction",
    "Device",
    "DeviceClock",
    "Edge",
    "EdgeKind",
    "ExecutionTime",
    "Fault",
    "FaultEffect",
    "FaultKind",
    "FaultScenario",
    "Frequency",
    "FrequencyChange",
    "Input",
    "Join",
    "Link",
    "Mode",
    "ModeChange",
    "OnMessage",
    "OperatingPoint",
    "Overflow",
    "OverrunAction",
    "PEKind",
    "Periodic",
    "Placement",
    "Plan",
    "Policy",
    "Preemption",
    "ProcessingElement",
    "Processor",
    "Protocol",
    "SafetyConcept",
    "Scheduling",
    "Sensor",
    "SensorKind",
    "SetTask",
    "SharedResource",
    "Sporadic",
    "Suspension",
    "System",
    "TableEntry",
    "Task",
    "TaskSet",
    "TimeSlice",
    "Trigger",
]
