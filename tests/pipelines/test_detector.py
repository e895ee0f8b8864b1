"""Detector: model refusals, sharing, box arithmetic, suppression, and that the shipped model finds cars."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines import onnx_session
from pipelines.camera import Preprocess
from pipelines.coco import COCO_IDS, COCO_NAMES, ROAD_USERS
from pipelines.detector import SHIPPED_MODEL, Infer, Postprocess
from pipelines.suppression import suppress_overlaps
from rt_sched.errors import DeploymentError
from rt_sched.messages import CameraImage, Detections2D, Tensor
from rt_sched.ports import JobContext, SensorDescription, Stage, StageContext

JOB = JobContext(task="front", number=0, arrival_ns=0, start_ns=0, finish_ns=0, deadline_ns=0)
KITTI_BAG = Path(__file__).resolve().parents[2] / "../shared/data/recordings/kitti78_small_f00-39_lz4.bag"


def context(base_dir: Path = Path(), task: str = "front", cameras: Sequence[str] = ()) -> StageContext:
    sensors = {name: SensorDescription(name, "camera", 33_333_333) for name in cameras}
    if cameras:
        sensors["top"] = SensorDescription("top", "lidar", 100_000_000)
    return StageContext(task=task, base_dir=base_dir, sensors=sensors)


def field(number: int, value: int | bytes) -> bytes:
    """One field of a protocol buffer: a varint or a length-delimited value, all below 2**14."""

    def varint(v: int) -> bytes:
        return bytes([v]) if v < 128 else bytes([v & 127 | 128, v >> 7])

    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def identity_model(shape: Sequence[int]) -> bytes:
    """An ONNX model with one float32 input `pixels` that it hands back as `out`."""

    def value(name: bytes) -> bytes:
        dims = b"".join(field(1, field(1, size)) for size in shape)
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))

    node = field(1, b"pixels") + field(2, b"out") + field(4, b"Identity")
    graph = field(1, node) + field(2, b"g") + field(11, value(b"pixels")) + field(12, value(b"out"))
    return field(1, 8) + field(7, graph) + field(8, field(2, 13))


def raw_tensor(
    boxes: Sequence[Sequence[float]],
    scores: Sequence[dict[str, float]],
    *,
    recorded: tuple[int, int] = (200, 400),
    scale_xy: tuple[float, float] = (300 / 400, 300 / 200),
    offset_xy: tuple[float, float] = (0.0, 0.0),
) -> Tensor:
    """Raw output of an SSD for a frame of 200 rows and 400 columns; `boxes` as y_min, x_min, y_max, x_max."""
    table = np.zeros((1, len(boxes), 90), np.float32)
    for row, named in enumerate(scores):
        for name, score in named.items():
            table[0, row, COCO_IDS[name] - 1] = score
    arrays = (np.array(boxes, np.float32).reshape(1, len(boxes), 1, 4), table)
    return Tensor(5, "front_optical", ("boxes", "scores"), arrays, *recorded, scale_xy, offset_xy, 300, 300)


def detect(raw: Tensor, **parameters: object) -> Detections2D:
    stage = Postprocess(**parameters)
    stage.start(context())
    return stage.process(JOB, {"raw": raw})["detections"]


class TestInfer:
    def test_is_a_stage(self) -> None:
        assert isinstance(Infer(), Stage)
        assert isinstance(Postprocess(), Stage)

    def test_a_model_of_another_input_shape_is_refused_with_its_signature(self, tmp_path: Path) -> None:
        (tmp_path / "small.onnx").write_bytes(identity_model([1, 3, 64, 96]))
        with pytest.raises(DeploymentError) as caught:
            Infer(model="small.onnx", input_shape=[1, 3, 300, 300]).start(context(tmp_path))
        assert "does not take one float32[1, 3, 300, 300] tensor" in str(caught.value)
        assert "inputs: pixels float32[1, 3, 64, 96]; outputs: out float32[1, 3, 64, 96]" in str(caught.value)

    def test_a_fitting_model_beside_the_system_file_runs(self, tmp_path: Path) -> None:
        (tmp_path / "small.onnx").write_bytes(identity_model([1, 3, 8, 12]))
        stage = Infer(model="small.onnx", input_shape=[1, 3, 8, 12], output_names=["out"])
        stage.start(context(tmp_path))
        array = np.arange(288, dtype=np.float32).reshape(1, 3, 8, 12)
        given_tensor = Tensor(9, "f", ("image",), (array,), 16, 24, (0.5, 0.5), (1.0, 2.0), 8, 12)
        raw = stage.process(JOB, {"tensor": given_tensor})["raw"]
        stage.stop()
        np.testing.assert_array_equal(raw.arrays[0], array)
        assert raw.names == ("out",)
        assert (raw.capture_time_ns, raw.frame_id, raw.recorded_height, raw.recorded_width) == (9, "f", 16, 24)
        assert (raw.scale_xy, raw.offset_xy) == ((0.5, 0.5), (1.0, 2.0))
        assert (raw.network_height, raw.network_width) == (8, 12)

    def test_an_unknown_output_is_refused_with_the_valid_ones(self, tmp_path: Path) -> None:
        (tmp_path / "small.onnx").write_bytes(identity_model([1, 3, 8, 12]))
        stage = Infer(model="small.onnx", input_shape=[1, 3, 8, 12], output_names=["oot"])
        with pytest.raises(DeploymentError, match=r"has no output 'oot'; did you mean 'out'\? valid: out"):
            stage.start(context(tmp_path))

    @pytest.mark.parametrize("content", [b"", b"no model at all", identity_model([1, 3, 8, 12])[:40]])
    def test_a_file_that_is_no_model_is_refused(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "bad.onnx").write_bytes(content)
        with pytest.raises(DeploymentError, match=r"bad\.onnx is not an ONNX model"):
            Infer(model="bad.onnx").start(context(tmp_path))

    def test_a_missing_file_or_a_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(DeploymentError, match=r"none\.onnx does not exist"):
            Infer(model="none.onnx").start(context(tmp_path))
        with pytest.raises(DeploymentError, match="is not a file"):
            Infer(model=".").start(context(tmp_path))

    def test_a_tensor_of_another_shape_is_refused_with_the_signature(self) -> None:
        stage = Infer()
        stage.start(context())
        wrong = Tensor(0, "f", ("image",), (np.zeros((1, 300, 300, 3), np.float32),), 300, 300, (1.0, 1.0))
        with pytest.raises(
            DeploymentError, match=r"float32\[1, 300, 300, 3\] does not fit .*float32\[1, 3, 300, 300\]"
        ):
            stage.process(JOB, {"tensor": wrong})
        stage.stop()

    def test_a_stage_that_was_not_started_says_so(self) -> None:
        tensor = Tensor(0, "f", ("image",), (np.zeros((1, 3, 300, 300), np.float32),), 300, 300, (1.0, 1.0))
        with pytest.raises(DeploymentError, match="not started"):
            Infer().process(JOB, {"tensor": tensor})

    def test_stages_share_one_session_and_the_last_one_frees_it(self, tmp_path: Path) -> None:
        path = tmp_path / "small.onnx"
        path.write_bytes(identity_model([1, 3, 8, 12]))
        first, second = onnx_session.acquire(path), onnx_session.acquire(tmp_path / "." / "small.onnx")
        assert first is second
        onnx_session.release(first)
        assert onnx_session.acquire(path) is second
        onnx_session.release(second)
        onnx_session.release(second)
        fresh = onnx_session.acquire(path)
        assert fresh is not second
        onnx_session.release(fresh)

    def test_a_refused_model_is_not_kept(self, tmp_path: Path) -> None:
        path = tmp_path / "small.onnx"
        path.write_bytes(identity_model([1, 3, 8, 12]))
        held = onnx_session.acquire(path)
        with pytest.raises(DeploymentError):
            Infer(model="small.onnx", input_dtype="uint8").start(context(tmp_path))
        onnx_session.release(held)
        fresh = onnx_session.acquire(path)
        assert fresh is not held
        onnx_session.release(fresh)

    def test_same_values_from_several_threads(self) -> None:
        stage = Infer()
        stage.start(context())
        rng = np.random.default_rng(3)
        tensors = [
            Tensor(0, "f", ("i",), (rng.uniform(-1, 1, (1, 3, 300, 300)).astype(np.float32),), 300, 300, (1.0, 1.0))
            for _ in range(4)
        ]
        alone = [stage.process(JOB, {"tensor": t})["raw"].arrays for t in tensors]
        with ThreadPoolExecutor(3) as pool:
            together = list(pool.map(lambda t: stage.process(JOB, {"tensor": t})["raw"].arrays, tensors))
        stage.stop()
        for one, other in zip(alone, together, strict=True):
            for left, right in zip(one, other, strict=True):
                np.testing.assert_array_equal(left, right)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"model": ""}, "model: '' is not the path of a file"),
            ({"input_shape": "1x3"}, "input_shape: '1x3' is not a list of sizes"),
            ({"input_shape": [1, 3, 0, 300]}, "input_shape: 0 is out of range"),
            ({"input_dtype": "float64"}, "input_dtype: 'float64' is not known"),
            ({"output_names": "scores"}, "output_names: 'scores' is not a list of names"),
            ({"output_names": [1]}, "output_names: 1 is not a name"),
        ],
    )
    def test_wrong_parameters_are_explained(self, parameters: dict[str, object], message: str) -> None:
        with pytest.raises(ValueError, match=r"is not|out of range") as caught:
            Infer(**parameters)
        assert message in str(caught.value)


class TestPostprocess:
    def test_golden_boxes_in_recorded_pixels(self) -> None:
        found = detect(
            raw_tensor(
                [[0.1, 0.2, 0.5, 0.6], [0.0, 0.0, 1.0, 0.25]],
                [{"car": 0.6, "truck": 0.4}, {"bus": 0.9}],
            )
        )
        assert found.class_names == ("bus", "car")
        assert found.class_ids.tolist() == [6, 3]
        np.testing.assert_allclose(found.scores, [0.9, 0.6])
        np.testing.assert_allclose(found.boxes_px, [[0, 0, 100, 200], [80, 20, 240, 100]], atol=1e-3)
        assert (found.image_height, found.image_width) == (200, 400)
        assert (found.capture_time_ns, found.frame_id) == (5, "front_optical")
        assert found.boxes_px.dtype == np.float32
        assert found.class_ids.dtype == np.int32

    def test_letterboxed_output_loses_its_padding(self) -> None:
        raw = raw_tensor(
            [[0.25, 0.0, 0.75, 1.0], [0.0, 0.5, 0.5, 1.5]],
            [{"car": 0.9}, {"truck": 0.8}],
            scale_xy=(0.75, 0.75),
            offset_xy=(0.0, 75.0),
        )
        np.testing.assert_allclose(detect(raw).boxes_px, [[0, 0, 400, 200], [200, 0, 400, 100]], atol=1e-3)

    def test_the_threshold_counts_as_reached_and_other_classes_are_left_out(self) -> None:
        raw = raw_tensor(
            [[0.1, 0.1, 0.2, 0.2], [0.3, 0.3, 0.4, 0.4], [0.5, 0.5, 0.6, 0.6], [0.7, 0.7, 0.8, 0.8]],
            [{"car": 0.5}, {"car": 0.49}, {"bench": 0.9, "car": 0.8}, {"person": 0.7}],
        )
        assert detect(raw, score_threshold=0.5).class_names == ("person", "car")
        assert detect(raw, score_threshold=0.5, classes=["bench"]).class_names == ("bench",)

    def test_values_that_are_no_numbers_and_empty_boxes_are_left_out(self) -> None:
        nan, inf = float("nan"), float("inf")
        raw = raw_tensor(
            [
                [nan, 0.1, 0.2, 0.2],
                [0.1, 0.1, inf, 0.2],
                [0.5, 0.5, 0.4, 0.6],
                [1.1, 0.1, 1.2, 0.2],
                [0.1, 0.1, 0.2, 0.2],
            ],
            [{"car": 0.9}, {"car": 0.9}, {"car": 0.9}, {"car": 0.9}, {"car": nan}],
        )
        assert detect(raw).class_names == ()

    def test_nothing_found_gives_empty_arrays(self) -> None:
        found = detect(raw_tensor([[0.1, 0.1, 0.2, 0.2]], [{}]))
        assert found.boxes_px.shape == (0, 4)
        assert found.scores.shape == found.class_ids.shape == (0,)

    def test_most_detections(self) -> None:
        raw = raw_tensor(
            [[0.1 * i, 0.0, 0.1 * i + 0.05, 0.1] for i in range(9)], [{"car": 0.4 + 0.05 * i} for i in range(9)]
        )
        np.testing.assert_allclose(detect(raw, max_detections=2).scores, [0.8, 0.75])

    @pytest.mark.parametrize(
        ("shapes", "message"),
        [
            ([(1, 5, 4)], "does not fit a list of 80 classes"),
            (
                [(1, 5, 4), (1, 6, 90)],
                r"not of the same number of boxes \(a float32\[1, 5, 4\]; b float32\[1, 6, 90\]\)",
            ),
            ([(1, 5, 4), (1, 5, 91)], "91 score columns; 90 classes make 90; set background to first or last"),
            ([(5, 4), (1, 5, 9)], "9 score columns; 90 classes make 90"),
            ([(1, 5, 4), (1, 5, 7, 7)], "not those of an SSD"),
        ],
    )
    def test_output_of_another_kind_is_refused_with_what_it_is(
        self, shapes: list[tuple[int, ...]], message: str
    ) -> None:
        arrays = tuple(np.zeros(shape, np.float32) for shape in shapes)
        raw = Tensor(0, "f", tuple("abcd"[: len(shapes)]), arrays, 9, 9, (1.0, 1.0), (0.0, 0.0), 9, 9)
        with pytest.raises(DeploymentError, match=message) as caught:
            detect(raw)
        assert f"a {list(shapes[0])}" in str(caught.value)

    @pytest.mark.parametrize(
        ("task", "cameras", "parameter", "expected"),
        [
            ("left_boxes", ["left", "surround_left"], None, "left"),
            ("surround_left_boxes", ["left", "surround_left"], None, "surround_left"),
            ("boxes", ["front"], None, "front"),
            ("left_boxes", ["left", "right"], "right", "right"),
            ("anything", [], None, "anything"),
            ("anything", [], "rear", "rear"),
        ],
    )
    def test_which_camera(self, task: str, cameras: list[str], parameter: str | None, expected: str) -> None:
        stage = Postprocess(camera=parameter)
        stage.start(context(task=task, cameras=cameras))
        found = stage.process(JOB, {"raw": raw_tensor([[0.1, 0.1, 0.2, 0.2]], [{}])})["detections"]
        assert found.camera == expected

    def test_an_unclear_or_unknown_camera_is_refused(self) -> None:
        with pytest.raises(DeploymentError, match="set the parameter camera to one of: left, right"):
            Postprocess().start(context(task="boxes", cameras=["right", "left"]))
        with pytest.raises(DeploymentError, match=r"'lefd' is not a camera; did you mean 'left'\? valid: left, right"):
            Postprocess(camera="lefd").start(context(cameras=["left", "right"]))
        with pytest.raises(DeploymentError, match="'top' is not a camera"):
            Postprocess(camera="top").start(context(cameras=["left", "right"]))

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"score_threshold": 1.5}, "score_threshold: 1.5 is out of range; valid: from 0 to 1"),
            ({"score_threshold": "high"}, "score_threshold: 'high' is not a number"),
            ({"iou_threshold": -0.1}, "iou_threshold: -0.1 is out of range"),
            ({"classes": ["car", "lorry"]}, "classes: 'lorry' is not known"),
            ({"classes": ["trucks"]}, "did you mean 'truck'?"),
            ({"classes": []}, "classes: [] is not a list of names"),
            ({"max_detections": 0}, "max_detections: 0 is out of range"),
            ({"camera": 7}, "camera: 7 is not the name of a sensor"),
        ],
    )
    def test_wrong_parameters_are_explained(self, parameters: dict[str, object], message: str) -> None:
        with pytest.raises(ValueError, match=r"is not|out of range") as caught:
            Postprocess(**parameters)
        assert message in str(caught.value)


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    common = max(width, 0.0) * max(height, 0.0)
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


#: Corners on a coarse grid, so that equal scores, equal boxes and shared edges are common.
BOXES = st.lists(
    st.tuples(
        st.integers(0, 6), st.integers(0, 6), st.integers(1, 5), st.integers(1, 5), st.integers(1, 4), st.integers(1, 2)
    ),
    max_size=14,
)


class TestSuppression:
    @staticmethod
    def arrays(items: list[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        table = np.array(items, np.float32).reshape(-1, 6)
        boxes = np.column_stack([table[:, 0], table[:, 1], table[:, 0] + table[:, 2], table[:, 1] + table[:, 3]])
        return boxes, table[:, 4] / 4, table[:, 5].astype(np.int32)

    @settings(max_examples=300, deadline=None)
    @given(BOXES, st.sampled_from([0.0, 0.25, 0.45, 0.5, 1.0]))
    def test_agrees_with_the_definition(self, items: list[tuple[int, ...]], threshold: float) -> None:
        boxes, scores, classes = self.arrays(items)
        expected: list[int] = []
        for index in sorted(range(len(items)), key=lambda i: (-scores[i], i)):
            rivals = [k for k in expected if classes[k] == classes[index]]
            if all(overlap(boxes[index].astype(float), boxes[k].astype(float)) <= threshold for k in rivals):
                expected.append(index)
        assert suppress_overlaps(boxes, scores, classes, threshold).tolist() == expected

    @settings(max_examples=100, deadline=None)
    @given(BOXES)
    def test_suppressing_twice_changes_nothing(self, items: list[tuple[int, ...]]) -> None:
        boxes, scores, classes = self.arrays(items)
        kept = suppress_overlaps(boxes, scores, classes, 0.45)
        again = suppress_overlaps(boxes[kept], scores[kept], classes[kept], 0.45)
        assert again.tolist() == list(range(len(kept)))

    def test_classes_do_not_suppress_each_other(self) -> None:
        boxes = np.array([[0, 0, 10, 10]] * 3, np.float32)
        kept = suppress_overlaps(boxes, np.array([0.5, 0.9, 0.7], np.float32), np.array([3, 3, 8], np.int32), 0.5)
        assert kept.tolist() == [1, 2]


def test_coco_names_are_the_91_identifiers_with_their_gaps() -> None:
    assert len(COCO_NAMES) == 80
    assert set(range(1, 91)) - set(COCO_NAMES) == {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}
    assert [COCO_IDS[name] for name in ROAD_USERS] == [1, 2, 3, 4, 6, 8]


def drawn_street() -> np.ndarray:
    """A car seen from behind on a marked road, out of flat polygons."""
    picture = np.empty((400, 640, 3), np.uint8)
    picture[:190] = np.linspace((235, 200, 150), (250, 235, 220), 190)[:, None]
    picture[190:] = (70, 120, 95)
    for left in range(0, 640, 90):
        cv2.ellipse(picture, (left, 178), (60, 30), 0, 0, 360, (50, 85 + left % 40, 60), -1, cv2.LINE_AA)

    def fill(shade: tuple[int, int, int], *corners: tuple[int, int]) -> None:
        cv2.fillPoly(picture, [np.array(corners, np.int32)], shade, cv2.LINE_AA)

    def box(shade: tuple[int, int, int], left: int, top: int, right: int, bottom: int) -> None:
        fill(shade, (left, top), (right, top), (right, bottom), (left, bottom))

    paint, shaded, black = (120, 40, 30), (72, 24, 18), (22, 22, 22)
    fill((95, 95, 97), (0, 400), (270, 190), (370, 190), (640, 400))
    for near, far in ((60, 300), (580, 340)):
        cv2.line(picture, (near, 400), (far, 190), (225, 225, 225), 5, cv2.LINE_AA)
    fill((40, 40, 42), (228, 300), (412, 300), (424, 312), (216, 312))
    fill(shaded, (272, 178), (368, 178), (386, 188), (398, 228), (242, 228), (254, 188))
    fill((70, 62, 58), (278, 186), (362, 186), (384, 222), (256, 222))
    fill(paint, (246, 222), (394, 222), (406, 240), (406, 292), (234, 292), (234, 240))
    fill(shaded, (234, 266), (406, 266), (404, 296), (236, 296))
    for side in (0, 1):
        box(black, 244 + 128 * side, 294, 268 + 128 * side, 307)
        box((35, 32, 30), 276 + 64 * side, 204, 300 + 64 * side, 222)
        box((40, 35, 190), 237 + 142 * side, 234, 261 + 142 * side, 256)
        box((150, 190, 240), 241 + 142 * side, 246, 257 + 142 * side, 252)
        box(shaded, 224 + 178 * side, 214, 240 + 178 * side, 224)
    box((235, 235, 235), 296, 246, 344, 258)
    box((120, 110, 110), 303, 249, 337, 255)
    return cv2.GaussianBlur(picture, (5, 5), 0)


class Chain:
    """The three camera stages as one call."""

    def __init__(self, **preprocessing: object) -> None:
        self.stages = (Preprocess(**preprocessing), Infer(), Postprocess())
        for stage in self.stages:
            stage.start(context())

    def __call__(self, bgr: np.ndarray) -> Detections2D:
        message = {"image": CameraImage(0, "f", bgr, *bgr.shape[:2])}
        tensor = self.stages[0].process(JOB, message)
        return self.stages[2].process(JOB, self.stages[1].process(JOB, tensor))["detections"]


@pytest.mark.parametrize("resize", ["stretch", "letterbox"])
def test_the_shipped_model_finds_a_drawn_car_where_it_is(resize: str) -> None:
    # A drawing is near the least score, and INT8 arithmetic differs between CPUs: of several pictures some will do.
    chain, overlaps = Chain(resize=resize), []
    for sky in range(0, 70, 10):
        found = chain(np.ascontiguousarray(drawn_street()[sky:]))
        cars = found.boxes_px[[name in ("car", "truck") for name in found.class_names]]
        overlaps += [overlap(box, np.array([230, 178 - sky, 410, 307 - sky])) for box in cars]
    assert max(overlaps, default=0.0) > 0.6


def test_the_shipped_model_finds_nothing_on_an_empty_sky() -> None:
    assert Chain()(np.full((300, 480, 3), (240, 220, 200), np.uint8)).class_names == ()


def test_the_shipped_model_takes_the_default_shape() -> None:
    session = onnx_session.acquire(SHIPPED_MODEL)
    assert session.signature.inputs[0].accepts((1, 3, 300, 300), "float32")
    onnx_session.release(session)


def test_the_car_ahead_is_found_in_a_recorded_drive() -> None:
    """Every eighth frame of a queue at a traffic light; the car stands at the left of the image's middle."""
    if not KITTI_BAG.exists():
        pytest.skip(f"{KITTI_BAG} is not there")
    from sensors.recording import open_recording

    recording = open_recording(KITTI_BAG)
    topic = "/kitti/camera_color_left/image_raw/compressed"
    chain = Chain()
    frames = 0
    for message in recording.messages([topic]):
        if frames % 8 == 0:
            image = recording.decode(message)
            bgr = chain.stages[0].preprocess(JOB, {"image": image})["image"].bgr
            found = chain(bgr)
            ahead = [
                box
                for box, name in zip(found.boxes_px, found.class_names, strict=True)
                if name == "car" and box[0] < 304.8 < box[2] and box[3] - box[1] > 35
            ]
            assert ahead, f"frame {frames}: {found.class_names}"
        frames += 1
    recording.close()
    assert frames == 40


def test_heavy_libraries_wait_for_the_start() -> None:
    """Listing the stages must not cost what only running them needs."""
    code = (
        "import sys, pipelines.camera, pipelines.detector, pipelines.lidar; "
        "import pipelines.camera_tracking, pipelines.lanes; "
        "print(sorted({'cv2', 'numba', 'onnxruntime', 'scipy', 'yaml'} & set(sys.modules)))"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
