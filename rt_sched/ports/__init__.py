"""Protocols between the layers: what a stage, a sensor source and a transport are, without saying how they work."""

from rt_sched.ports.catalogue import StageCatalogue, StageDescription, StageParameter
from rt_sched.ports.port import Loan, Message, Port, Reader, Writer
from rt_sched.ports.source import RecordedMessage, Recording, TopicInfo, TopicKind
from rt_sched.ports.stage import (
    Feeder,
    JobContext,
    JobStopped,
    Rejected,
    SensorDescription,
    Stage,
    StageBase,
    StageContext,
    Watch,
)

__all__ = [
    "Feeder",
    "JobContext",
    "JobStopped",
    "Loan",
    "Message",
    "Port",
    "Reader",
    "RecordedMessage",
    "Recording",
    "Rejected",
    "SensorDescription",
    "Stage",
    "StageBase",
    "StageCatalogue",
    "StageContext",
    "StageDescription",
    "StageParameter",
    "TopicInfo",
    "TopicKind",
    "Watch",
    "Writer",
]
