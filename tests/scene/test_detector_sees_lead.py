"""The shipped detector finds the lead vehicle in the shipped frames."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from mcap.reader import make_reader
from rosbags.typesys import Stores, get_typestore

MODEL = Path(__file__).resolve().parents[2] / "pipelines" / "models" / "coco_ssd_300_int8.onnx"
VEHICLES = {3, 6, 8}
THRESHOLD = 0.35


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Intersection over union of two boxes x_min, y_min, x_max, y_max."""
    width, height = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return float(shared / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared))


@pytest.fixture(scope="module")
def detector():
    ort = pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(str(MODEL), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("camera", ["front_wide", "front_standard", "front_tele"])
def test_lead_is_found_at_every_distance(replay_data: Path, detector, camera: str) -> None:
    store = get_typestore(Stores.ROS2_HUMBLE)
    frames = json.loads((replay_data / "hazard_truth.json").read_text(encoding="utf-8"))["frames"]
    found = looked = 0
    with (replay_data / "hazard.mcap").open("rb") as stream:
        topic = f"/camera/{camera}/compressed"
        for number, (_, _, message) in enumerate(make_reader(stream).iter_messages(topics=[topic])):
            if number % 8:
                continue
            looked += 1
            jpeg = store.deserialize_cdr(message.data, "sensor_msgs/msg/CompressedImage").data
            image = cv2.imdecode(jpeg, cv2.IMREAD_COLOR)
            small = cv2.resize(image, (300, 300))[:, :, ::-1].astype(np.float32) * 2 / 255 - 1
            boxes, scores = detector.run(None, {detector.get_inputs()[0].name: small.transpose(2, 0, 1)[None].copy()})
            best = scores[0].max(axis=1)
            height, width = image.shape[:2]
            truth = np.array(frames[number]["boxes"][camera]["lead"][:4])
            for k in np.flatnonzero(best > THRESHOLD):
                y0, x0, y1, x1 = boxes[0, k, 0]
                box = np.array([x0 * width, y0 * height, x1 * width, y1 * height])
                if int(scores[0, k].argmax()) + 1 in VEHICLES and overlap(box, truth) > 0.5:
                    found += 1
                    break
    assert looked == 15
    assert found >= 14
