"""ROS 2 message definitions of the recorded topics that the type store of rosbags does not know, and that store.

Interfaces: vision_msgs 4 (ROS 2 Humble and later), foxglove_msgs 3 (image annotations), and this product's own
rt_sched_msgs. Viewers recognise the first two by name; rt_sched_msgs travels with the file, as every schema does.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

DEFINITIONS: dict[str, str] = {
    "vision_msgs/msg/Point2D": "float64 x\nfloat64 y\n",
    "vision_msgs/msg/Pose2D": "vision_msgs/Point2D position\nfloat64 theta\n",
    "vision_msgs/msg/BoundingBox2D": "vision_msgs/Pose2D center\nfloat64 size_x\nfloat64 size_y\n",
    "vision_msgs/msg/BoundingBox3D": "geometry_msgs/Pose center\ngeometry_msgs/Vector3 size\n",
    "vision_msgs/msg/ObjectHypothesis": "string class_id\nfloat64 score\n",
    "vision_msgs/msg/ObjectHypothesisWithPose": (
        "vision_msgs/ObjectHypothesis hypothesis\ngeometry_msgs/PoseWithCovariance pose\n"
    ),
    "vision_msgs/msg/Detection2D": (
        "std_msgs/Header header\nvision_msgs/ObjectHypothesisWithPose[] results\n"
        "vision_msgs/BoundingBox2D bbox\nstring id\n"
    ),
    "vision_msgs/msg/Detection2DArray": "std_msgs/Header header\nvision_msgs/Detection2D[] detections\n",
    "vision_msgs/msg/Detection3D": (
        "std_msgs/Header header\nvision_msgs/ObjectHypothesisWithPose[] results\n"
        "vision_msgs/BoundingBox3D bbox\nstring id\n"
    ),
    "vision_msgs/msg/Detection3DArray": "std_msgs/Header header\nvision_msgs/Detection3D[] detections\n",
    "foxglove_msgs/msg/Point2": "float64 x\nfloat64 y\n",
    "foxglove_msgs/msg/Color": "float64 r\nfloat64 g\nfloat64 b\nfloat64 a\n",
    "foxglove_msgs/msg/CircleAnnotation": (
        "builtin_interfaces/Time timestamp\nfoxglove_msgs/Point2 position\nfloat64 diameter\nfloat64 thickness\n"
        "foxglove_msgs/Color fill_color\nfoxglove_msgs/Color outline_color\n"
    ),
    "foxglove_msgs/msg/PointsAnnotation": (
        "uint8 UNKNOWN=0\nuint8 POINTS=1\nuint8 LINE_LOOP=2\nuint8 LINE_STRIP=3\nuint8 LINE_LIST=4\n"
        "builtin_interfaces/Time timestamp\nuint8 type\nfoxglove_msgs/Point2[] points\n"
        "foxglove_msgs/Color outline_color\nfoxglove_msgs/Color[] outline_colors\n"
        "foxglove_msgs/Color fill_color\nfloat64 thickness\n"
    ),
    "foxglove_msgs/msg/TextAnnotation": (
        "builtin_interfaces/Time timestamp\nfoxglove_msgs/Point2 position\nstring text\nfloat64 font_size\n"
        "foxglove_msgs/Color text_color\nfoxglove_msgs/Color background_color\n"
    ),
    "foxglove_msgs/msg/ImageAnnotations": (
        "foxglove_msgs/CircleAnnotation[] circles\nfoxglove_msgs/PointsAnnotation[] points\n"
        "foxglove_msgs/TextAnnotation[] texts\n"
    ),
    # A longitudinal command. acceleration_m_s2 is negative when braking; time_to_collision_s is +inf when nothing is
    # closing in; view_sensors[i] is a sensor whose freshest data inside the command was captured at view_stamps[i].
    "rt_sched_msgs/msg/Command": (
        "std_msgs/Header header\nstring source\nuint64 counter\nfloat64 acceleration_m_s2\nbool emergency\n"
        "float64 time_to_collision_s\nbool valid\nstring[] view_sensors\nbuiltin_interfaces/Time[] view_stamps\n"
    ),
    # The command that goes to the actuators. state is STARTING, NOMINAL, DEGRADED, BACKUP or MINIMAL_RISK;
    # selected names the path that command came from; latency_s is decided_at minus the header's stamp.
    "rt_sched_msgs/msg/ArbiterDecision": (
        "std_msgs/Header header\nbuiltin_interfaces/Time decided_at\nfloat64 latency_s\nstring state\n"
        "string selected\nstring reason\nstring[] stale_sensors\nrt_sched_msgs/Command command\n"
    ),
    # The strip of road that a camera sees as drivable: y of its edges at stations along x, and where each was seen.
    "rt_sched_msgs/msg/RoadCorridor": (
        "std_msgs/Header header\nstring camera\nstring method\nfloat64 confidence\nfloat64[] stations_m\n"
        "float64[] left_m\nfloat64[] right_m\nbool[] left_seen\nbool[] right_seen\n"
    ),
    # What each sensor counted in a fused result: its weight, 0 for a lost view, and how many of its captures were too
    # old. ego_speed_m_s is not a number while it is not known.
    "rt_sched_msgs/msg/FusionWeights": (
        "std_msgs/Header header\nstring[] sensors\nfloat64[] weights\nuint64[] left_out\nfloat64 ego_speed_m_s\n"
    ),
    # What travels of tracked objects to another device; the changed objects themselves are on the topic /changed.
    "rt_sched_msgs/msg/ObjectChanges": (
        "std_msgs/Header header\nuint64 sequence\nbool full\nint64[] changed_ids\nint64[] created_ids\n"
        "int64[] removed_ids\n"
    ),
    # Objects in the way of the vehicle, the nearest first. speed_m_s is not a number while it is not known; times to
    # collision are +inf where nothing closes in.
    "rt_sched_msgs/msg/Situation": (
        "std_msgs/Header header\nbuiltin_interfaces/Time data_time\nbool valid\nfloat64 speed_m_s\n"
        "float64 curvature_per_m\nint64[] track_ids\nfloat64[] gaps_m\nfloat64[] gap_sigmas_m\n"
        "float64[] closing_m_s\nfloat64[] closing_sigmas_m_s\nfloat64[] braking_m_s2\nfloat64[] in_path\n"
        "float64[] times_to_collision_s\nfloat64[] time_to_collision_sigmas_s\nfloat64[] needed_m_s2\n"
    ),
    # What the vehicle should do. track_id is -1 when no object decides; the profile counts from the header's stamp.
    "rt_sched_msgs/msg/MotionPlan": (
        "std_msgs/Header header\nbuiltin_interfaces/Time data_time\nbool valid\nbool warning\nbool emergency\n"
        "int64 track_id\nfloat64 time_to_collision_s\nfloat64 acceleration_m_s2\nfloat64 speed_m_s\n"
        "float64[] times_s\nfloat64[] speed_changes_m_s\n"
    ),
    # Motion of the vehicle from its IMU; heading and speed change are integrals since the start of the run.
    "rt_sched_msgs/msg/EgoMotion": (
        "std_msgs/Header header\nfloat64 yaw_rate_rad_s\nfloat64 forward_acceleration_m_s2\n"
        "float64 heading_rad\nfloat64 speed_change_m_s\n"
    ),
}


@cache
def typestore() -> Typestore:
    """The types of ROS 2 Humble and those of `DEFINITIONS`; built once per process."""
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    types = {}
    for name, text in DEFINITIONS.items():
        types.update(get_types_from_msg(text, name))
    store.register(types)
    return store


@cache
def schema_text(type_name: str) -> str:
    """The concatenated .msg definition of a type and of all it contains (MCAP schema encoding "ros2msg")."""
    return typestore().generate_msgdef(type_name, ros_version=2)[0]
