"""The recorded outputs read back with the public MCAP reader and its ROS 2 decoder."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from rt_sched.errors import DataError, DeploymentError
from rt_sched.messages import (
    ArbiterDecision,
    ArbiterState,
    Boxes3D,
    CameraImage,
    Command,
    Detections2D,
    EgoMotion,
    EncodedImage,
    ImageTracks,
    RoadCorridor,
    SensorView,
    TrackedObjects,
)
from rt_sched.record.mcap_writer import OutputRecorder

ZERO_NS = 1_700_000_000_123_456_789
MS = 1_000_000
LINE_LOOP = 2  # foxglove_msgs/PointsAnnotation
CUBE, DELETE_ALL = 1, 3  # visualization_msgs/Marker


def _detections(capture_ns: int = 30 * MS) -> Detections2D:
    return Detections2D(
        capture_time_ns=capture_ns,
        frame_id="front_optical",
        camera="front",
        image_height=1080,
        image_width=1920,
        boxes_px=np.array([[100, 200, 180, 260], [10, 20, 40, 80]], dtype=np.float32),
        scores=np.array([0.75, 0.5], dtype=np.float32),
        class_ids=np.array([3, 1], dtype=np.int32),
        class_names=("car", "person"),
    )


def _boxes() -> Boxes3D:
    return Boxes3D(
        capture_time_ns=7 * MS,
        frame_id="lidar",
        centers_m=np.array([[10, 2, 0.5]], dtype=np.float32),
        sizes_m=np.array([[4, 2, 1.5]], dtype=np.float32),
        yaws_rad=np.array([math.pi / 2], dtype=np.float32),
        num_points=np.array([321], dtype=np.int32),
    )


def _tracks() -> TrackedObjects:
    return TrackedObjects(
        capture_time_ns=40 * MS,
        frame_id="vehicle",
        track_ids=np.array([17]),
        positions_m=np.array([[12.5, -1.0]]),
        velocities_m_s=np.array([[-3.0, 4.0]]),
        sizes_m=np.array([[4.4, 1.8, 1.6]]),
        labels=("car",),
        scores=np.array([0.9]),
        seen_by=(("front", "lidar"),),
        views=(SensorView("front", 30 * MS),),
    )


def _command(collision_ns: int | None = 1_500_000_000) -> Command:
    views = (SensorView("front", 30 * MS), SensorView("lidar", -5))
    return Command(30 * MS, "primary", 4, -6.5, True, collision_ns, True, views)


def _decision(state: ArbiterState = ArbiterState.BACKUP) -> ArbiterDecision:
    return ArbiterDecision(30 * MS, 55 * MS, state, "backup", _command(), "primary is silent", ("front", "left"))


def _record(path, *calls, zero_ns=ZERO_NS):
    with OutputRecorder(path, time_zero_ns=zero_ns) as recorder:
        for name, *arguments in calls:
            getattr(recorder, name)(*arguments)
    return _read(path)


def _read(path):
    """topic -> list of (log time, schema name, decoded message)."""
    found = {}
    with path.open("rb") as file:
        for schema, channel, message, decoded in make_reader(
            file, decoder_factories=[DecoderFactory()]
        ).iter_decoded_messages():
            assert message.publish_time == message.log_time
            found.setdefault(channel.topic, []).append((message.log_time, schema.name, decoded))
    return found


def _ns(stamp) -> int:
    return stamp.sec * 10**9 + stamp.nanosec


def test_detections_are_drawn_over_the_frame_they_were_found_in(tmp_path):
    jpeg = b"\xff\xd8 not decoded \xff\xd9"
    image = EncodedImage(30 * MS, "front_optical", "jpeg", memoryview(jpeg))
    found = _record(
        tmp_path / "output.mcap",
        ("add_image", 32 * MS, "/camera/front", image),
        ("add", 60 * MS, "front.detect", "detections", _detections()),
    )
    ((log_ns, schema, frame),) = found["/camera/front"]
    assert (log_ns, schema) == (ZERO_NS + 32 * MS, "sensor_msgs/msg/CompressedImage")
    assert (frame.format, bytes(frame.data), frame.header.frame_id) == ("jpeg", jpeg, "front_optical")

    ((log_ns, schema, array),) = found["/front.detect/detections"]
    assert (log_ns, schema) == (ZERO_NS + 60 * MS, "vision_msgs/msg/Detection2DArray")
    car, person = array.detections
    assert (car.bbox.center.position.x, car.bbox.center.position.y, car.bbox.size_x, car.bbox.size_y) == (
        140, 230, 80, 60,
    )  # fmt: skip
    assert (car.results[0].hypothesis.class_id, car.results[0].hypothesis.score) == ("car", 0.75)
    assert person.results[0].hypothesis.class_id == "person"

    ((log_ns, schema, drawn),) = found["/front.detect/detections/annotations"]
    assert (log_ns, schema) == (ZERO_NS + 60 * MS, "foxglove_msgs/msg/ImageAnnotations")
    assert [(p.x, p.y) for p in drawn.points[0].points] == [(100, 200), (180, 200), (180, 260), (100, 260)]
    assert drawn.points[0].type == LINE_LOOP
    assert [text.text for text in drawn.texts] == ["car 0.75", "person 0.50"]
    stamps = {_ns(frame.header.stamp), _ns(array.header.stamp), _ns(car.header.stamp)}
    stamps |= {_ns(part.timestamp) for part in (*drawn.points, *drawn.texts)}
    assert stamps == {ZERO_NS + 30 * MS}


def test_followed_detections_carry_their_numbers(tmp_path):
    none = np.zeros(0, np.int64)
    zeros = np.zeros(2, np.float32)
    tracks = ImageTracks(
        np.array([7, 0]), np.array([5, 0]), np.zeros((2, 2), np.float32), zeros, ("car", "person"), none, none
    )
    followed = dataclasses.replace(_detections(), tracks=tracks)
    found = _record(tmp_path / "o.mcap", ("add", 5, "track", "detections", followed))
    ((_, _, array),) = found["/track/detections"]
    assert [detection.id for detection in array.detections] == ["7", ""]
    ((_, _, drawn),) = found["/track/detections/annotations"]
    assert [text.text for text in drawn.texts] == ["car 0.75 #7", "person 0.50"]


def test_a_frame_without_detections_clears_the_picture(tmp_path):
    nothing = Detections2D(
        0, "f", "front", 10, 10, np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.zeros(0, np.int32), ()
    )
    found = _record(tmp_path / "o.mcap", ("add", 5, "t", "p", nothing))
    assert found["/t/p"][0][2].detections == []
    assert found["/t/p/annotations"][0][2].points == []


def test_the_edges_of_the_road(tmp_path):
    seen = np.array([True, True, False])
    road = RoadCorridor(
        30 * MS, "vehicle", "front", "markings", np.array([5.0, 6.0, 7.0]), np.full(3, 1.75), np.full(3, -1.5),
        seen, np.zeros(3, np.bool_), 0.25,
    )  # fmt: skip
    found = _record(tmp_path / "o.mcap", ("add", 50 * MS, "lanes", "corridor", road))
    ((_, schema, corridor),) = found["/lanes/corridor"]
    assert schema == "rt_sched_msgs/msg/RoadCorridor"
    assert (corridor.camera, corridor.method, corridor.confidence) == ("front", "markings", 0.25)
    assert list(corridor.stations_m) == [5.0, 6.0, 7.0]
    assert list(corridor.left_seen) == [True, True, False]
    assert (corridor.header.frame_id, _ns(corridor.header.stamp)) == ("vehicle", ZERO_NS + 30 * MS)
    ((_, _, drawn),) = found["/lanes/corridor/markers"]
    clear, left, right = drawn.markers
    assert clear.action == DELETE_ALL
    assert [(p.x, p.y) for p in left.points] == [(5, 1.75), (6, 1.75), (6, 1.75), (7, 1.75)]
    assert [(p.x, p.y) for p in right.points] == [(5, -1.5), (6, -1.5), (6, -1.5), (7, -1.5)]
    assert left.color.a == 1.0
    assert right.color.a == 0.5


def test_a_road_without_end_is_written_too(tmp_path):
    none, nothing = np.zeros(0), np.zeros(0, np.bool_)
    road = RoadCorridor(0, "vehicle", "front", "segmentation", none, none, none, nothing, nothing, 0.0)
    found = _record(tmp_path / "o.mcap", ("add", 5, "t", "p", road))
    assert len(found["/t/p"][0][2].stations_m) == 0
    assert len(found["/t/p/markers"][0][2].markers) == 1


def test_a_raw_frame_keeps_its_layout(tmp_path):
    image = EncodedImage(1, "cam", "bgr8", bytes(range(24)), height=2, width=3, row_bytes=12)
    ((_, schema, frame),) = _record(tmp_path / "o.mcap", ("add_image", 1, "/raw", image))["/raw"]
    assert schema == "sensor_msgs/msg/Image"
    assert (frame.height, frame.width, frame.step, frame.encoding, frame.is_bigendian) == (2, 3, 12, "bgr8", 0)
    assert bytes(frame.data) == bytes(range(24))


def test_lidar_boxes(tmp_path):
    found = _record(tmp_path / "o.mcap", ("add", 50 * MS, "cluster", "boxes", _boxes()))
    ((_, schema, array),) = found["/cluster/boxes"]
    assert schema == "vision_msgs/msg/Detection3DArray"
    box = array.detections[0].bbox
    assert (box.center.position.x, box.center.position.y, box.size.x, box.size.z) == (10, 2, 4, 1.5)
    assert box.center.orientation.z == pytest.approx(math.sqrt(0.5))
    assert box.center.orientation.w == pytest.approx(math.sqrt(0.5))
    ((_, schema, scene),) = found["/cluster/boxes/markers"]
    assert schema == "visualization_msgs/msg/MarkerArray"
    clear, cube, label = scene.markers
    assert (clear.action, cube.type, label.text) == (DELETE_ALL, CUBE, "321 points")
    assert (cube.header.frame_id, _ns(cube.header.stamp)) == ("lidar", ZERO_NS + 7 * MS)


def test_tracks_stand_on_the_ground_with_an_arrow_for_their_motion(tmp_path):
    found = _record(tmp_path / "o.mcap", ("add", 50 * MS, "fuse", "tracks", _tracks()))
    ((_, _, array),) = found["/fuse/tracks"]
    track = array.detections[0]
    assert (track.id, track.results[0].hypothesis.class_id) == ("17", "car")
    assert (track.bbox.center.position.x, track.bbox.center.position.z) == (12.5, 0.8)
    ((_, _, scene),) = found["/fuse/tracks/markers"]
    _, cube, label, arrow = scene.markers
    assert [marker.id for marker in (cube, label, arrow)] == [17, 17, 17]
    assert len({(marker.ns, marker.id) for marker in scene.markers}) == 4
    assert label.text == "car #17 5.0 m/s\nfront, lidar"
    tail, tip = arrow.points
    assert (tip.x - tail.x, tip.y - tail.y) == (-3.0, 4.0)


def test_commands(tmp_path):
    found = _record(
        tmp_path / "o.mcap",
        ("add", 50 * MS, "plan", "command", _command()),
        ("add", 51 * MS, "plan", "command", _command(None)),
    )
    (_, schema, command), (_, _, clear) = found["/plan/command"]
    assert schema == "rt_sched_msgs/msg/Command"
    assert (command.source, command.counter, command.acceleration_m_s2) == ("primary", 4, -6.5)
    assert (command.emergency, command.valid, command.time_to_collision_s) == (True, True, 1.5)
    assert command.view_sensors == ["front", "lidar"]
    assert [_ns(stamp) for stamp in command.view_stamps] == [ZERO_NS + 30 * MS, ZERO_NS - 5]
    assert clear.time_to_collision_s == math.inf


@pytest.mark.parametrize(
    ("state", "level"),
    [("STARTING", 1), ("NOMINAL", 0), ("DEGRADED", 1), ("BACKUP", 2), ("MINIMAL_RISK", 2)],
)
def test_every_state_of_the_arbiter_appears_in_the_diagnostics(tmp_path, state, level):
    found = _record(tmp_path / "o.mcap", ("add", 55 * MS, "arbiter", "decision", _decision(ArbiterState(state))))
    ((_, schema, decision),) = found["/arbiter/decision"]
    assert schema == "rt_sched_msgs/msg/ArbiterDecision"
    assert (decision.state, decision.selected, decision.reason) == (state, "backup", "primary is silent")
    assert decision.stale_sensors == ["front", "left"]
    assert decision.latency_s == 0.025
    assert (decision.command.acceleration_m_s2, _ns(decision.decided_at)) == (-6.5, ZERO_NS + 55 * MS)
    ((_, schema, diagnostics),) = found["/diagnostics"]
    assert schema == "diagnostic_msgs/msg/DiagnosticArray"
    (status,) = diagnostics.status
    levels = status.level if isinstance(status.level, int) else status.level[0]
    assert (levels, status.name) == (level, "arbiter /arbiter/decision")
    assert status.message.endswith(": primary is silent")
    values = {pair.key: pair.value for pair in status.values}
    assert values["state"] == state
    assert values["latency_ns"] == "25000000"
    assert values["stale_sensors"] == "front, left"


def test_ego_motion(tmp_path):
    found = _record(tmp_path / "o.mcap", ("add", 9, "imu", "motion", EgoMotion(4, "imu", 0.1, -2.0, 0.3, -0.4)))
    ((_, _, motion),) = found["/imu/motion"]
    assert (motion.yaw_rate_rad_s, motion.forward_acceleration_m_s2) == (0.1, -2.0)
    assert (motion.heading_rad, motion.speed_change_m_s) == (0.3, -0.4)


def test_messages_without_a_picture_are_passed_over(tmp_path):
    image = CameraImage(0, "f", np.zeros((2, 2, 3), np.uint8), 2, 2)
    assert _record(tmp_path / "o.mcap", ("add", 0, "decode", "image", image)) == {}


@pytest.mark.parametrize(
    "angles", [(0, 0, 0), (0.3, -0.2, 1.1), (math.pi, 0, 0), (0, math.pi, 0), (0, 0, math.pi), (2.5, 1.2, -3.0)]
)
def test_sensor_poses_become_unit_quaternions_that_turn_alike(tmp_path, angles):
    roll, pitch, yaw = angles
    about_x = np.array([[1, 0, 0], [0, math.cos(roll), -math.sin(roll)], [0, math.sin(roll), math.cos(roll)]])
    about_y = np.array([[math.cos(pitch), 0, math.sin(pitch)], [0, 1, 0], [-math.sin(pitch), 0, math.cos(pitch)]])
    about_z = np.array([[math.cos(yaw), -math.sin(yaw), 0], [math.sin(yaw), math.cos(yaw), 0], [0, 0, 1]])
    rotation = about_z @ about_y @ about_x
    matrix = np.hstack([rotation, [[1.0], [2.0], [3.0]]]).tolist()
    found = _record(tmp_path / "o.mcap", ("add_static_transforms", "vehicle", {"lidar": matrix}))
    ((_, schema, message),) = found["/tf_static"]
    assert schema == "tf2_msgs/msg/TFMessage"
    (transform,) = message.transforms
    assert (transform.header.frame_id, transform.child_frame_id) == ("vehicle", "lidar")
    move, turn = transform.transform.translation, transform.transform.rotation
    assert (move.x, move.y, move.z) == (1, 2, 3)
    axis, scalar = np.array([turn.x, turn.y, turn.z]), turn.w
    for vector in np.eye(3):
        turned = vector + 2 * np.cross(axis, np.cross(axis, vector) + scalar * vector)
        np.testing.assert_allclose(turned, rotation @ vector, atol=1e-12)


def test_messages_come_in_order_of_time_although_frames_are_handed_over_late(tmp_path):
    path = tmp_path / "output.mcap"
    image = EncodedImage(0, "f", "jpeg", b"x")
    _record(
        path,
        ("add", 20 * MS, "imu", "motion", EgoMotion(0, "imu", 0, 0, 0, 0)),
        ("add_image", 10 * MS, "/camera", image),
        ("add", 20 * MS, "fuse", "tracks", _tracks()),
        ("add", 900 * MS, "imu", "motion", EgoMotion(0, "imu", 0, 0, 0, 0)),
        ("add_image", 750 * MS, "/camera", image),
    )
    with path.open("rb") as file:
        in_file_order = [
            (message.log_time - ZERO_NS, channel.topic, message.sequence)
            for _, channel, message in make_reader(file).iter_messages(log_time_order=False)
        ]
    assert in_file_order == [
        (10 * MS, "/camera", 1),
        (20 * MS, "/imu/motion", 1),
        (20 * MS, "/fuse/tracks", 1),
        (20 * MS, "/fuse/tracks/markers", 1),
        (750 * MS, "/camera", 2),
        (900 * MS, "/imu/motion", 2),
    ]


def test_a_message_far_too_late_is_kept(tmp_path):
    motion = EgoMotion(0, "imu", 0, 0, 0, 0)
    calls = [("add", time_ns, "imu", "motion", motion) for time_ns in (0, 5_000 * MS, 5_300 * MS, 1_000 * MS)]
    found = _record(tmp_path / "o.mcap", *calls)
    assert [log_ns - ZERO_NS for log_ns, *_ in found["/imu/motion"]] == [0, 1_000 * MS, 5_000 * MS, 5_300 * MS]


def test_equal_outputs_give_equal_files_that_name_no_library_version(tmp_path):
    calls = [
        ("add_image", 32 * MS, "/camera", EncodedImage(30 * MS, "f", "jpeg", bytes(5000))),
        ("add", 40 * MS, "detect", "detections", _detections()),
        ("add", 55 * MS, "arbiter", "decision", _decision()),
    ]
    for name in ("a", "b"):
        _record(tmp_path / name, *calls)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with (tmp_path / "a").open("rb") as file:
        header = make_reader(file).get_header()
    assert (header.profile, header.library) == ("ros2", "rt-sched output recorder 1")


def test_rosbags_reads_the_file_with_the_schemas_inside_it(tmp_path):
    from rosbags.highlevel import AnyReader

    path = tmp_path / "output.mcap"
    _record(path, ("add", 40 * MS, "detect", "detections", _detections()), ("add", 55 * MS, "a", "d", _decision()))
    with AnyReader([path]) as reader:
        values = {link.topic: reader.deserialize(raw, link.msgtype) for link, _, raw in reader.messages()}
    assert values["/detect/detections"].detections[0].results[0].hypothesis.class_id == "car"
    assert values["/a/d"].command.view_sensors == ["front", "lidar"]


def test_the_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "output.mcap"
    recorder = OutputRecorder(path)
    recorder.add(1, "imu", "motion", EgoMotion(0, "imu", 0, 0, 0, 0))
    assert not path.exists()
    recorder.close()
    recorder.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["output.mcap"]


def test_a_run_that_fails_leaves_no_file(tmp_path):
    with pytest.raises(RuntimeError), OutputRecorder(tmp_path / "output.mcap") as recorder:
        recorder.add(1, "imu", "motion", EgoMotion(0, "imu", 0, 0, 0, 0))
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_wrong_places_and_times_are_refused_in_words(tmp_path):
    with pytest.raises(DeploymentError, match=r"cannot write .*nowhere.*No such file"):
        OutputRecorder(tmp_path / "nowhere" / "output.mcap")
    with pytest.raises(ValueError, match="never negative"):
        OutputRecorder(tmp_path / "output.mcap", time_zero_ns=-1)
    with (
        pytest.raises(DataError, match="1901 to 2038"),
        OutputRecorder(tmp_path / "o.mcap", time_zero_ns=2**62) as recorder,
    ):
        recorder.add(1, "imu", "motion", EgoMotion(0, "imu", 0, 0, 0, 0))
