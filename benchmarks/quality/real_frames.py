"""Real frames: the shipped INT8 detector against its FP32 original, whether the car ahead is found, and how smooth the
time to collision to it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from detections import agreement, car_ahead
from outputs import Detections, read_outputs
from smoothness import time_to_collision_on

from rt_sched.app.progress import Quiet
from rt_sched.app.replay.job import ReplayRequest, run_replay
from rt_sched.errors import DataError
from rt_sched.ports import TopicKind
from rt_sched.units import NS_PER_S
from sensors.recording import open_recording
from sensors.scene.mcap_file import McapFile
from sensors.scene.ros2_messages import IMAGE, definition_of, image_message

FP32_MODEL = Path("models") / "coco_ssd_300.onnx"
RECORDINGS = ("recordings/kitti78_small_f00-39_lz4.bag", "recordings/kitti360_small_50f_zstd.mcap")
#: Recordings in which a car is ahead in every frame, as their description says, and the system for each.
WITH_CAR_AHEAD = {"kitti78_small_f00-39_lz4": "kitti78_single_orin"}
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_EPOCH_NS = 1_600_000_000 * NS_PER_S

_SYSTEM = """rt_sched: 1
name: one_camera
devices:
  orin: {{soc: agx-orin, power_mode: MAXN}}
sensors:
  front:
    {{kind: camera, rate: 10Hz, latency: 5ms, jitter: 2ms, attached_to: [orin], arrival: capture, topic: "{topic}"}}
tasks:
  pre:
    {{stage: "pipelines.camera:Preprocess", runs_on: orin.cpu, inputs: {{image: front}}, execution: {{wcet: 3ms}},
      parameters: {{{model}}}}}
  infer:
    {{stage: "pipelines.detector:Infer", runs_on: orin.gpu, inputs: {{tensor: pre}}, execution: {{wcet: 9ms}},
      parameters: {{{model}}}}}
  post:
    {{stage: "pipelines.detector:Postprocess", runs_on: orin.cpu, inputs: {{raw: infer}}, execution: {{wcet: 2ms}},
      deadline: 50ms, parameters: {{camera: front}}}}
"""


def real_frames(data: Path, work: Path) -> Iterator[dict[str, Any]]:
    """One result per set of frames under `data`; a set or model that is not there gives a reason instead."""
    fp32 = data / FP32_MODEL
    for recording in _recordings(data, work):
        if not recording.exists():
            yield {"frames": recording.name, "skipped": f"{recording} is not there"}
            continue
        shipped, width, height = _detections(recording, None, work)
        result: dict[str, Any] = {"frames": recording.stem, "count": len(shipped)}
        if recording.stem in WITH_CAR_AHEAD or "drive" in recording.stem:
            result["car_ahead_found"] = car_ahead(shipped, width, height)
        if recording.stem in WITH_CAR_AHEAD:
            system = EXAMPLES / f"{WITH_CAR_AHEAD[recording.stem]}.yaml"
            result["time_to_collision"] = time_to_collision_on(recording, system, work, Quiet())
        if fp32.exists():
            original, _, _ = _detections(recording, fp32, work)
            result["int8_against_fp32"] = agreement(original, shipped)
        else:
            result["int8_against_fp32"] = None
            result["skipped"] = f"{fp32} is not there"
        yield result


def _recordings(data: Path, work: Path) -> Iterator[Path]:
    """Recordings of the folder, and its drives in KITTI's raw layout as recordings."""
    for name in RECORDINGS:
        yield data / name
    for drive in sorted((data / "kitti_raw").glob("*/*_drive_*_sync")):
        images = sorted((drive / "image_02" / "data").glob("*.png"))
        if images:
            yield _as_recording(drive.name, images, work)


def _as_recording(name: str, images: list[Path], work: Path) -> Path:
    """PNG files at 10 Hz as an MCAP recording; detection does not look at time."""
    target = work / f"{name}.mcap"
    with target.open("wb") as stream:
        log = McapFile(stream, zstd_level=1)
        log.add_channel("/front", IMAGE, definition_of(IMAGE))
        for number, path in enumerate(images):
            stamp_ns = _EPOCH_NS + number * NS_PER_S // 10
            picture = cv2.imread(str(path), cv2.IMREAD_COLOR)
            if picture is None:
                raise DataError(f"{path}: no picture that can be read")
            # Practically lossless, so that what the messages call jpeg is one.
            _, jpeg = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 98])
            data = image_message(stamp_ns, "front", jpeg.tobytes())
            log.add_message("/front", data, log_time_ns=stamp_ns + 5_000_000, publish_time_ns=stamp_ns)
        log.finish()
    return target


def _detections(recording: Path, model: Path | None, work: Path) -> tuple[list[Detections], int, int]:
    """Detections of every frame by the shipped model or another one, and the size of the frames in pixels."""
    opened = open_recording(recording)
    try:
        topic = next(topic for topic in opened.topics if topic.kind is TopicKind.CAMERA)
        first = next(iter(opened.messages([topic.name])))
        image = opened.decode(first)
        picture = cv2.imdecode(np.frombuffer(image.data, np.uint8), cv2.IMREAD_COLOR)
    finally:
        opened.close()
    if picture is None:
        raise DataError(f"{recording}: its first frame cannot be decoded")
    system = work / "one_camera.yaml"
    named = "" if model is None else f"model: {json.dumps(str(model.resolve()))}"
    system.write_text(_SYSTEM.format(topic=topic.name, model=named), encoding="utf-8")
    run = run_replay(ReplayRequest(log=str(recording), system=str(system), output=work / "run_of_frames"), Quiet())
    found = read_outputs(run.folder / "output.mcap").detections
    return found, int(picture.shape[1]), int(picture.shape[0])
