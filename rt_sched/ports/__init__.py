"""Protocols between the layers: what a stage, a sensor source and a clock are, without saying how they work."""

from rt_sched.ports.catalogue import StageCatalogue, StageDescription, StageParameter
from rt_sched.ports.source import RecordedMessage, Recording, TopicInfo, TopicKind
from rt_sched.ports.stage import JobContext, Rejected, SensorDescription, Stage, StageBase, StageContext

__all__ = [
    "JobContext",
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
]
