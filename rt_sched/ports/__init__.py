"""Protocols between the layers: what a stage, a sensor source and a clock are, without saying how they work."""

from rt_sched.ports.catalogue import StageCatalogue, StageDescription, StageParameter
from rt_sched.ports.source import RecordedMessage, Recording, TopicInfo, TopicKind
from rt_sched.ports.stage import Feeder, JobContext, Rejected, SensorDescription, Stage, StageBase, StageContext, Watch

__all__ = [
    "Feeder",
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
    "Watch",
]
