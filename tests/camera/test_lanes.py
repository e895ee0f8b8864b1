"""The corridor ahead: lanes painted on a known road, scenes and real frames, and a segmentation network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from pipelines.camera import Preprocess
from pipelines.detector import Infer
from pipelines.lanes import DrivableArea, LaneMarkings
from pipelines.projection import CameraGeometry
from rt_sched.errors import DeploymentError
from rt_sched.messages import CameraImage, EncodedImage
from rt_sched.messages.perception import RoadCorridor
from rt_sched.ports import Feeder, JobContext, Rejected, SensorDescription, Stage, StageContext
from sensors.recording import open_recording

JOB = JobContext(task="lanes_front", number=0, arrival_ns=0, start_ns=0, finish_ns=0, deadline_ns=0)
ROOT = Path(__file__).resolve().parents[2]
KITTI_BAG = ROOT / "../shared/data/recordings/kitti78_small_f00-39_lz4.bag"
KITTI_360 = ROOT / "../shared/data/recordings/kitti360_small_50f_zstd.mcap"

#: A camera 1.4 m above the road that looks ahead and 3 degrees down.
SIN, COS = 0.0523359562, 0.9986295348
FRONT = SensorDescription(
    "front",
    "camera",
    33_333_333,
    640,
    400,
    (500.0, 500.0, 320.0, 200.0),
    ((0.0, -SIN, COS, 1.5), (-1.0, 0.0, 0.0, 0.1), (0.0, -COS, -SIN, 1.4)),
)


def context(sensor: SensorDescription = FRONT, base_dir: Path = Path(), **feeders: Feeder) -> StageContext:
    return StageContext("lanes_front", base_dir, {sensor.name: sensor}, feeders=feeders)


def paint(colour_at: Callable[[np.ndarray, np.ndarray], np.ndarray], sensor: SensorDescription = FRONT) -> np.ndarray:
    """A frame of flat ground whose grey value is a function of x and y, twice oversampled; sky above the horizon."""
    camera = CameraGeometry.of(sensor)
    assert camera is not None
    v, u = np.mgrid[0 : 2 * camera.height, 0 : 2 * camera.width] / 2.0 + 0.25
    rays = np.stack([(u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy, np.ones_like(u)], axis=-1)
    rays = rays @ camera.rotation.T
    down = rays[..., 2] < -1e-3
    reach = np.where(down, -camera.position_m[2] / np.where(down, rays[..., 2], -1.0), 0.0)
    x = camera.position_m[0] + reach * rays[..., 0]
    y = camera.position_m[1] + reach * rays[..., 1]
    grey = np.where(down & (x < 120.0), colour_at(x, y), 190.0)
    small = cv2.resize(grey.astype(np.float32), (camera.width, camera.height), interpolation=cv2.INTER_AREA)
    return np.repeat(np.clip(small, 0, 255).astype(np.uint8)[:, :, None], 3, axis=2)


def road(
    *,
    left: float = 1.75,
    right: float = -1.75,
    slope: float = 0.0,
    curvature: float = 0.0,
    dash_m: float = 0.0,
    seed: int = 0,
    only: str = "",
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    noise = cv2.resize(rng.normal(0, 4, (60, 60)).astype(np.float32), (1280, 800))

    def colour(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        middle = slope * x + curvature * x**2 / 2.0
        grey = np.where(np.abs(y - middle) < 6.0, 95.0, 70.0) + noise
        for name, offset in (("left", left), ("right", right)):
            marked = np.abs(y - middle - offset) < 0.07
            if dash_m and name == "left":
                marked &= np.mod(x, 2.5 * dash_m) < dash_m
            if only in ("", name):
                grey = np.where(marked, 215.0, grey)
        return grey

    return paint(colour)


def corridor(bgr: np.ndarray, sensor: SensorDescription = FRONT, **parameters: Any) -> RoadCorridor:
    stage = LaneMarkings(**parameters)
    stage.start(context(sensor))
    return stage.process(JOB, {"image": CameraImage(5, "front_optical", bgr, *bgr.shape[:2])})["corridor"]


def test_are_stages() -> None:
    assert isinstance(LaneMarkings(), Stage)
    assert isinstance(DrivableArea(), Stage)
    assert not LaneMarkings.stateful
    assert not DrivableArea.stateful


@settings(max_examples=20, deadline=None)
@given(
    left=st.floats(1.2, 2.2),
    right=st.floats(-2.2, -1.2),
    slope=st.floats(-0.05, 0.05),
    curvature=st.floats(-0.004, 0.004),
    dashed=st.booleans(),
    seed=st.integers(0, 5),
)
def test_finds_a_painted_lane(
    left: float, right: float, slope: float, curvature: float, dashed: bool, seed: int
) -> None:
    """Whatever its place, direction and bend: within 20 cm at 20 m, and half a metre at the far end."""
    found = corridor(
        road(left=left, right=right, slope=slope, curvature=curvature, dash_m=4.0 if dashed else 0.0, seed=seed)
    )
    middle = slope * found.stations_m + curvature * found.stations_m**2 / 2.0
    near = found.stations_m <= 20.0
    for edge, truth in ((found.left_m, left + middle), (found.right_m, right + middle)):
        assert np.abs(edge - truth)[near].max() < 0.2
        assert np.abs(edge - truth).max() < 0.5
    assert found.confidence > 0.6
    assert found.frame_id == "vehicle"
    assert (found.capture_time_ns, found.camera, found.method) == (5, "front", "markings")


@pytest.mark.parametrize("side", ["left", "right"])
def test_one_edge_alone_gives_the_other_at_the_usual_width(side: str) -> None:
    found = corridor(road(only=side), lane_width_m=3.3)
    seen, other = (found.left_seen, found.right_seen) if side == "left" else (found.right_seen, found.left_seen)
    assert seen.mean() > 0.8
    assert not other.any()
    np.testing.assert_allclose(found.left_m - found.right_m, 3.3)
    np.testing.assert_allclose((found.left_m if side == "left" else -found.right_m)[:40], 1.75, atol=0.15)


@pytest.mark.parametrize("grey", [0, 90, 255])
def test_without_markings_the_corridor_is_assumed_and_says_so(grey: int) -> None:
    found = corridor(np.full((400, 640, 3), grey, np.uint8))
    assert found.confidence == 0.0
    assert not found.left_seen.any()
    assert not found.right_seen.any()
    assert (found.left_m == 1.75).all()
    assert (found.right_m == -1.75).all()
    assert found.polygon_m.shape == (2 * len(found.stations_m), 2)


def test_noise_alone_is_no_marking() -> None:
    rng = np.random.default_rng(3)
    for _ in range(5):
        bgr = np.clip(rng.normal(100, 25, (400, 640, 3)), 0, 255).astype(np.uint8)
        assert corridor(bgr).confidence < 0.2


def test_the_edge_of_a_kerb_or_shadow_is_no_marking() -> None:
    """A step in brightness is bright on one side only."""
    found = corridor(paint(lambda x, y: np.where(np.abs(y) < 1.9, 80.0, 160.0)))
    assert found.confidence == 0.0


def test_a_frame_of_another_size_is_the_same_road() -> None:
    bgr = road(left=1.5, right=-1.9)
    large = cv2.resize(bgr, (1280, 800), interpolation=cv2.INTER_CUBIC)
    first, second = corridor(bgr), corridor(large)
    np.testing.assert_allclose(first.left_m, second.left_m, atol=0.1)
    np.testing.assert_allclose(first.right_m, second.right_m, atol=0.1)


def test_decodes_large_frames_at_reduced_size() -> None:
    data = cv2.imencode(".jpg", np.zeros((1080, 1920, 3), np.uint8))[1].tobytes()
    stage = LaneMarkings()
    stage.start(context())
    ready = stage.preprocess(JOB, {"image": EncodedImage(5, "f", "jpeg", data)})["image"]
    assert ready.bgr.shape == (540, 960, 3)
    with pytest.raises(Rejected):
        stage.preprocess(JOB, {"image": EncodedImage(5, "f", "jpeg", data[:40])})


def recorded(log: Path, topic: str, system: str, camera: str, every: int) -> list[RoadCorridor]:
    from rt_sched.app.inputs.stages import ImportedStages
    from rt_sched.app.inputs.systems import stage_context
    from rt_sched.config import load_system

    if not log.exists():
        pytest.skip(f"{log} is not there")
    loaded = load_system(ROOT / "examples" / f"{system}.yaml", stages=ImportedStages())
    task = next(task for task in loaded.tasks if task.name == f"pre_{camera}")
    stage = LaneMarkings(camera=camera)
    stage.start(stage_context(loaded, task, authenticator=None))
    recording = open_recording(log)
    found = []
    for number, message in enumerate(recording.messages([topic])):
        if number % every == 0:
            ready = stage.preprocess(JOB, {"image": recording.decode(message)})
            found.append(stage.process(JOB, ready)["corridor"])
    recording.close()
    assert len(found) >= 5
    return found


@pytest.mark.parametrize("camera", ["front_wide", "front_standard"])
def test_the_lane_of_the_shipped_scene(camera: str) -> None:
    """Two cameras, one truth: the own lane is 3.7 m wide; its middle is 0.1 m to the right of the vehicle's."""
    topic = f"/camera/{camera}/compressed"
    for found in recorded(ROOT / "replay_data/hazard_short.mcap", topic, "quad_orin", camera, 3):
        near = slice(0, 60) if camera == "front_wide" else slice(20, 60)
        np.testing.assert_allclose(found.left_m[near], 1.75, atol=0.15)
        np.testing.assert_allclose(found.right_m[near], -1.95, atol=0.15)
        assert found.confidence > 0.5


def test_the_lane_in_a_recorded_queue() -> None:
    """Most frames show both edges beside the car ahead, which hides the lane from 10 m on; none is wild."""
    topic = "/kitti/camera_color_left/image_raw/compressed"
    found = recorded(KITTI_BAG, topic, "kitti78_single_orin", "front", 4)
    both = [c for c in found if c.left_seen.any() and c.right_seen.any() and c.confidence > 0.5]
    assert len(both) >= 0.4 * len(found)
    for lane in both:
        assert 2.4 < lane.left_m[0] - lane.right_m[0] < 4.2


def test_a_recorded_street_without_markings_is_mostly_assumed() -> None:
    found = recorded(KITTI_360, "/camera/front/compressed", "kitti_single_orin", "front", 5)
    assert np.mean([c.confidence == 0.0 for c in found]) >= 0.7


def test_a_camera_without_calibration_is_refused() -> None:
    bare = SensorDescription("front", "camera", 1)
    for stage in (LaneMarkings(), DrivableArea()):
        with pytest.raises(DeploymentError, match=r"camera 'front' has no full calibration.*add calibration"):
            stage.start(context(bare))


@pytest.mark.parametrize(
    ("stage", "parameters", "message"),
    [
        (LaneMarkings, {"near_m": -1.0}, "near_m: -1.0 is out of range"),
        (LaneMarkings, {"far_m": 8.0}, "far_m: 8.0 is out of range"),
        (LaneMarkings, {"lane_width_m": 9.0}, "lane_width_m: 9.0 is out of range"),
        (LaneMarkings, {"min_width_m": 0.1}, "min_width_m: 0.1 is out of range"),
        (DrivableArea, {"drivable_classes": []}, "is not a list of class numbers"),
        (DrivableArea, {"drivable_classes": [-1]}, "drivable_classes: -1 is out of range"),
        (DrivableArea, {"threshold": 2.0}, "threshold: 2.0 is out of range"),
        (DrivableArea, {"channels": "middle"}, "channels: 'middle' is not known"),
        (DrivableArea, {"half_width_m": 0.1}, "half_width_m: 0.1 is out of range"),
    ],
)
def test_wrong_parameters_are_explained(stage: type, parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stage(**parameters)


#: What the network hands out -> shape of its output for an input of 160 rows and 256 columns, halved.
KINDS = {
    "scores_first": [1, 3, 80, 128],
    "scores_last": [1, 80, 128, 3],
    "numbers": [1, 80, 128],
    "probability": [1, 1, 80, 128],
}


def segmentation(path: Path, kind: str) -> Path:
    """A network that takes dark grey for drivable (class 1), bright for class 2 and green for class 0."""
    constants = [
        numpy_helper.from_array(np.array([[-4, 8, -4], [-1, -1, -1], [2, 2, 2]], np.float32).reshape(3, 3, 1, 1), "w"),
        numpy_helper.from_array(np.array([0.0, 1.1, -3.0], np.float32), "b"),
    ]
    nodes = [
        helper.make_node("AveragePool", ["picture"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["half", "w", "b"], ["scores"]),
    ]
    if kind == "scores_first":
        nodes.append(helper.make_node("Identity", ["scores"], ["out"]))
    elif kind == "scores_last":
        nodes.append(helper.make_node("Transpose", ["scores"], ["out"], perm=[0, 2, 3, 1]))
    elif kind == "numbers":
        nodes.append(helper.make_node("ArgMax", ["scores"], ["out"], axis=1, keepdims=0))
    else:
        constants += [numpy_helper.from_array(np.array(values, np.int64), name) for name, values in (("i", [1]),)]
        nodes.append(helper.make_node("Softmax", ["scores"], ["shares"], axis=1))
        nodes.append(helper.make_node("Gather", ["shares", "i"], ["out"], axis=1))
    made = TensorProto.INT64 if kind == "numbers" else TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "road",
        [helper.make_tensor_value_info("picture", TensorProto.FLOAT, [1, 3, 160, 256])],
        [helper.make_tensor_value_info("out", made, KINDS[kind])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    return path


def green_beside_grey(blocked_from_m: float = 1e9) -> np.ndarray:
    """A road from y = -2.5 to 3.5 m between meadows, with something bright across it from `blocked_from_m` on."""
    grey = paint(lambda x, y: np.where((y > -2.5) & (y < 3.5), np.where(x > blocked_from_m, 250.0, 60.0), 0.0))
    bgr = grey.copy()
    bgr[grey[:, :, 0] < 30] = (30, 160, 30)
    return bgr


def drivable(tmp_path: Path, kind: str, bgr: np.ndarray, *, resize: str = "stretch", **parameters: Any) -> RoadCorridor:
    segmentation(tmp_path / "road.onnx", kind)
    feeders = {
        "tensor": Feeder("pre", "pipelines.camera:Preprocess", {"model": "road.onnx", "resize": resize}),
        "raw": Feeder("infer", "pipelines.detector:Infer", {"model": "road.onnx"}),
    }
    stages = (
        Preprocess(model="road.onnx", resize=resize),
        Infer(model="road.onnx"),
        DrivableArea(**parameters),
    )
    message: Any = {"image": CameraImage(5, "front_optical", bgr, *bgr.shape[:2])}
    for stage in stages:
        stage.start(context(base_dir=tmp_path, **feeders))
    for stage in stages:
        message = stage.process(JOB, message)
    for stage in stages:
        stage.stop()
    return message["corridor"]


@pytest.mark.parametrize("resize", ["stretch", "letterbox"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_segmentation_network_gives_the_drivable_strip(tmp_path: Path, kind: str, resize: str) -> None:
    found = drivable(tmp_path, kind, green_beside_grey(), resize=resize, far_m=20.0)
    assert len(found.stations_m) == 31
    assert found.method == "segmentation"
    inside = found.stations_m > 8.0  # nearer the view is narrower than the road
    np.testing.assert_allclose(found.left_m[inside], 3.5, atol=0.45)
    np.testing.assert_allclose(found.right_m[inside], -2.5, atol=0.45)
    assert found.left_seen[inside].all()
    assert found.right_seen[inside].all()


def test_the_strip_ends_where_the_road_is_blocked(tmp_path: Path) -> None:
    found = drivable(tmp_path, "scores_first", green_beside_grey(blocked_from_m=15.0))
    assert 13.0 < found.stations_m[-1] < 17.0
    free = drivable(tmp_path, "scores_first", green_beside_grey())
    assert free.stations_m[-1] > 25.0
    assert free.confidence > found.confidence


def test_nothing_drivable_is_an_empty_corridor(tmp_path: Path) -> None:
    found = drivable(tmp_path, "numbers", np.full((400, 640, 3), (30, 160, 30), np.uint8))
    assert len(found.stations_m) == 0
    assert found.confidence == 0.0
    assert found.polygon_m.shape == (0, 2)


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (
            "scores_first",
            {"drivable_classes": [3]},
            r"drivable_classes: 3 of 3 classes from 0 on.*outputs: out float32",
        ),
        ("scores_first", {"output": "mask"}, "there is no output 'mask'"),
    ],
)
def test_a_network_that_does_not_fit_is_refused_at_start(
    tmp_path: Path, kind: str, parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(DeploymentError, match=message):
        drivable(tmp_path, kind, np.zeros((400, 640, 3), np.uint8), **parameters)


def test_a_detector_is_no_segmentation() -> None:
    feeder = Feeder("infer", "pipelines.detector:Infer", {"model": None})
    stage = DrivableArea(model=str(ROOT / "pipelines/models/coco_ssd_300_int8.onnx"))
    with pytest.raises(DeploymentError, match=r"2 outputs; set output to the one with the classes; it has inputs"):
        stage.start(context(raw=feeder))
