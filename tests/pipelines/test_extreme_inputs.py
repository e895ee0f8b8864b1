"""Whatever a recording holds, no stage fails: it publishes finite numbers, or rejects the message and goes on."""

from __future__ import annotations

import functools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.camera import Preprocess as CameraPreprocess
from pipelines.control import Control
from pipelines.fusion import Fuse
from pipelines.imu import Integrate
from pipelines.lanes import LaneMarkings
from pipelines.lidar import Cluster, Preprocess
from pipelines.planning import Plan
from pipelines.understanding import Understand
from rt_sched.messages import Boxes3D, Command, EncodedImage, ImuSample, PointCloud
from rt_sched.ports import JobContext, Rejected, SensorDescription, StageContext
from safety.backup import LidarCorridor
from safety.camera_corridor import CameraCorridor

MS = 1_000_000
POSE = ((1.0, 0.0, 0.0, 0.5), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.8))
CAMERA_POSE = ((0.0, 0.0, 1.0, 1.9), (-1.0, 0.0, 0.0, 0.0), (0.0, -1.0, 0.0, 1.4))
SENSORS = {
    "top": SensorDescription("top", "lidar", 100 * MS, sensor_to_vehicle=POSE),
    "imu": SensorDescription("imu", "imu", 5 * MS, sensor_to_vehicle=POSE),
    "front": SensorDescription("front", "camera", 33 * MS, 64, 48, (60.0, 60.0, 32.0, 24.0), CAMERA_POSE),
}

extreme = st.sampled_from([0.0, -0.0, 1e-45, 1.0, -3.0, 39.9, 1e5, -1e10, 3.4e38, -3.4e38, np.inf, -np.inf, np.nan])
stamps = st.sampled_from([0, 1, -1, 10**9, 10**18, -(10**18), 2**62, -(2**62)])


@functools.cache
def started(kind: Any) -> Any:
    stage = kind()
    stage.start(StageContext("front", Path(), SENSORS))
    return stage


def fresh(kind: Any) -> Any:
    stage = kind()
    stage.start(StageContext("front", Path(), SENSORS))
    return stage


def run(stage: Any, at_ns: int, **inputs: Any) -> Any:
    """The stage's only output, None where it rejects. A warning counts as a failure: it lands on the terminal."""
    job = JobContext("task", 0, at_ns, at_ns, at_ns, at_ns)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            (found,) = stage.process(job, stage.preprocess(job, inputs)).values()
        except Rejected:
            return None
    return found


def decide(stages: tuple[Any, ...], at_ns: int, boxes: Boxes3D | None, ego: Any) -> Command:
    fusion, understand, planner, control = stages
    objects = run(fusion, at_ns, boxes=boxes, ego=ego)
    situation = run(understand, at_ns, objects=objects, ego=ego)
    command: Command = run(control, at_ns, plan=run(planner, at_ns, situation=situation), ego=ego)
    return command


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(extreme, extreme, extreme, extreme), max_size=40),
    st.sampled_from([0, 1, -(2**31), 2**31 - 1, -50 * MS]) | st.none(),
    stamps,
    st.integers(0, 2**32 - 1),
)
def test_no_point_of_a_sweep_stops_a_stage(
    rows: list[tuple[float, ...]], offset_ns: int | None, stamp: int, seed: int
) -> None:
    noise = np.random.default_rng(seed)
    plain = np.column_stack((noise.uniform(3.0, 40.0, 300), noise.uniform(-6.0, 6.0, 300), noise.uniform(-2, 1, 300)))
    values = np.array([*[(*row, 0.0) for row in plain], *rows], np.float32)
    times = None if offset_ns is None else np.full(len(values), offset_ns, np.int32)
    decision = tuple(fresh(kind) for kind in (Fuse, Understand, Plan, Control))
    backup = fresh(LidarCorridor)
    for k in range(2):
        at_ns = stamp + k * 100 * MS
        cloud = PointCloud(at_ns, "top", values[:, :3].copy(), values[:, 3].copy(), time_offset_ns=times)
        obstacles = run(started(Preprocess), at_ns, points=cloud, ego=None)
        boxes = None if obstacles is None else run(started(Cluster), at_ns, obstacles=obstacles)
        if boxes is not None:
            assert np.isfinite(boxes.centers_m).all()
            assert np.isfinite(boxes.sizes_m).all()
        for command in (decide(decision, at_ns + 30 * MS, boxes, None), run(backup, at_ns, points=cloud)):
            assert command is None or -10.0 <= command.acceleration_m_s2 <= 0.0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.floats() | extreme), max_size=3), stamps)
def test_no_inertial_sample_stops_a_stage_behind_it(wrong: list[tuple[int, float]], stamp: int) -> None:
    imu, decision = fresh(Integrate), tuple(fresh(kind) for kind in (Fuse, Understand, Plan, Control))
    box = Boxes3D(
        stamp, "vehicle", np.array([[30.0, 0.0, 0.7]], np.float32), np.array([[4.0, 1.8, 1.5]], np.float32),
        np.zeros(1, np.float32), np.full(1, 50, np.int32),
    )  # fmt: skip
    ego = None
    for k in range(12):
        values = np.array([0.0, 0.0, 1e-4 * k, 0.0, 1e-4 * k, 9.81])
        for place, value in wrong if k in (4, 5, 9) else ():
            values[place] = value
        ego = run(imu, stamp, imu=ImuSample(stamp + k * 5 * MS, "imu", values[:3], values[3:])) or ego
        if k % 3 == 0:
            command = decide(decision, stamp + k * 5 * MS, box, ego)
            assert -10.0 <= command.acceleration_m_s2 <= 0.0


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["jpeg", "png", "bgr8", "mono8", "rgba8", "yuv422", "bayer_rggb8", "16UC1", "32FC1", "", "x"]),
    st.binary(max_size=64) | st.sampled_from([b"\xff\xd8\xff\xe0" + bytes(60), b"\x89PNG\r\n\x1a\n" + bytes(40)]),
    st.sampled_from([0, 1, 2, 7, 64, 2**31 - 1, -1]),
    st.sampled_from([0, 1, 2, 7, 64, 2**31 - 1, -1]),
    st.sampled_from([0, 1, 3, 21, 192, 2**31 - 1, -1]),
    stamps,
)
def test_no_picture_stops_a_stage(
    encoding: str, data: bytes, height: int, width: int, row_bytes: int, stamp: int
) -> None:
    for stage in (started(CameraPreprocess), started(LaneMarkings), fresh(CameraCorridor)):
        for k in range(2):
            picture = EncodedImage(stamp + k * 33 * MS, "front", encoding, data, height, width, row_bytes)
            found = run(stage, stamp, image=picture)
            assert not isinstance(found, Command) or -10.0 <= found.acceleration_m_s2 <= 0.0
        good = EncodedImage(stamp + 66 * MS, "front", "bgr8", bytes(48 * 64 * 3), 48, 64, 192)
        # The corridor says nothing of a picture without contrast.
        assert isinstance(stage, CameraCorridor) or run(stage, stamp, image=good) is not None
