"""Message types that travel along edges: frozen, with the capture time of the data they stem from."""

from rt_sched.messages.authentication import Authenticator
from rt_sched.messages.canonical import canonical_digest
from rt_sched.messages.control import ArbiterDecision, ArbiterState, Command, InputCheck, ReleaseRequest, SensorView
from rt_sched.messages.e2e import E2EHeader, E2EState
from rt_sched.messages.health import SensorHealth, SensorTrust, TrustState
from rt_sched.messages.perception import (
    Boxes3D,
    Detections2D,
    EgoMotion,
    ImageTracks,
    MotionHistory,
    MotionState,
    ObjectChanges,
    RoadCorridor,
    SensorWeight,
    Tensor,
    TrackedObjects,
)
from rt_sched.messages.sensor import CameraImage, Deskew, EncodedImage, ImuSample, PointCloud
from rt_sched.messages.situation import MotionPlan, Situation

__all__ = [
    "ArbiterDecision",
    "ArbiterState",
    "Authenticator",
    "Boxes3D",
    "CameraImage",
    "Command",
    "Deskew",
    "Detections2D",
    "E2EHeader",
    "E2EState",
    "EgoMotion",
    "EncodedImage",
    "ImageTracks",
    "ImuSample",
    "InputCheck",
    "MotionHistory",
    "MotionPlan",
    "MotionState",
    "ObjectChanges",
    "PointCloud",
    "ReleaseRequest",
    "RoadCorridor",
    "SensorHealth",
    "SensorTrust",
    "SensorView",
    "SensorWeight",
    "Situation",
    "Tensor",
    "TrackedObjects",
    "TrustState",
    "canonical_digest",
]
