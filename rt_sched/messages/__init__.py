"""Message types that travel along edges: frozen, with the capture time of the data they stem from."""

from rt_sched.messages.canonical import canonical_digest
from rt_sched.messages.control import ArbiterDecision, ArbiterState, Command, SensorView
from rt_sched.messages.perception import Boxes3D, Detections2D, EgoMotion, Tensor, TrackedObjects
from rt_sched.messages.sensor import CameraImage, EncodedImage, ImuSample, PointCloud

__all__ = [
    "ArbiterDecision",
    "ArbiterState",
    "Boxes3D",
    "CameraImage",
    "Command",
    "Detections2D",
    "EgoMotion",
    "EncodedImage",
    "ImuSample",
    "PointCloud",
    "SensorView",
    "Tensor",
    "TrackedObjects",
    "canonical_digest",
]
