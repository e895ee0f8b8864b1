"""Recordings cut out of the shipped scene: some of its sensors, some of its time, an actor painted over."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from mcap.reader import make_reader
from rosbags.typesys import Stores, get_typestore

from rt_sched.units import NS_PER_S
from sensors.scene.lidar import Sweep
from sensors.scene.mcap_file import McapFile
from sensors.scene.rig import quad_orin_rig
from sensors.scene.ros2_messages import CLOUD, IMAGE, cloud_message, definition_of, image_message

REPLAY_DATA = Path(__file__).resolve().parents[2] / "replay_data"
STORE = get_typestore(Stores.ROS2_HUMBLE)
RIG = quad_orin_rig()


def cut(target: Path, *, sensors: Collection[str], until_s: float, blank: str | None = None) -> Path:
    """Write what the named sensors of the shipped scene saw; without a pixel or point of the actor `blank`."""
    topics = {sensor.topic: sensor for sensor in (*RIG.cameras, RIG.lidar, RIG.imu) if sensor.name in sensors}
    truth = json.loads((REPLAY_DATA / "hazard_truth.json").read_text(encoding="utf-8"))
    with (REPLAY_DATA / "hazard.mcap").open("rb") as source, target.open("wb") as out:
        log = McapFile(out, zstd_level=1)
        reader = make_reader(source)
        summary = reader.get_summary()
        assert summary is not None
        schemas = {channel.topic: summary.schemas[channel.schema_id].name for channel in summary.channels.values()}
        for topic in topics:
            log.add_channel(topic, schemas[topic], definition_of(schemas[topic]))
        end_ns = truth["epoch_ns"] + round(until_s * NS_PER_S)
        for schema, channel, message in reader.iter_messages(topics=list(topics)):
            assert schema is not None
            if message.log_time >= end_ns:
                break
            data = message.data
            if blank is not None and schema.name == IMAGE:
                data = _painted(data, topics[channel.topic].name, blank, truth)
            elif blank is not None and schema.name == CLOUD:
                data = _thinned(data, blank, truth)
            log.add_message(channel.topic, data, log_time_ns=message.log_time, publish_time_ns=message.publish_time)
        log.finish()
    return target


def _painted(data: bytes, camera: str, actor: str, truth: dict[str, Any]) -> bytes:
    """The image message with the actor's box filled, row by row, from what lies beside it."""
    message = STORE.deserialize_cdr(data, IMAGE)
    stamp_ns = message.header.stamp.sec * NS_PER_S + message.header.stamp.nanosec
    frame = next(frame for frame in truth["frames"] if frame["capture_time_ns"] == stamp_ns)
    box = frame["boxes"][camera].get(actor)
    if box is None:
        return data
    image = cv2.imdecode(message.data, cv2.IMREAD_COLOR)
    height, width = image.shape[:2]
    x0, x1 = max(0, int(box[0]) - 8), min(width - 1, int(box[2]) + 8)
    y0, y1 = max(0, int(box[1]) - 8), min(height, int(box[3]) + 8)
    share = np.linspace(0.0, 1.0, x1 - x0 + 1)[None, :, None]
    left, right = image[y0:y1, x0, None].astype(float), image[y0:y1, x1, None].astype(float)
    image[y0:y1, x0 : x1 + 1] = np.rint(left * (1.0 - share) + right * share).astype(np.uint8)
    _, jpeg = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 90])
    return image_message(stamp_ns, message.header.frame_id, jpeg.tobytes())


def _thinned(data: bytes, actor: str, truth: dict[str, Any]) -> bytes:
    """The cloud message without the points in the actor's box at each point's own instant."""
    message = STORE.deserialize_cdr(data, CLOUD)
    stamp_ns = message.header.stamp.sec * NS_PER_S + message.header.stamp.nanosec
    kind = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
    point = np.dtype(
        {
            "names": [field.name for field in message.fields],
            "formats": [kind[field.datatype] for field in message.fields],
            "offsets": [field.offset for field in message.fields],
            "itemsize": message.point_step,
        }
    )
    points = np.frombuffer(message.data.tobytes(), point)
    frames = truth["frames"]
    times = np.array([frame["time_ns"] for frame in frames], dtype=float)
    at = points["t"].astype(float) + (stamp_ns - truth["epoch_ns"])
    x, y = (np.interp(at, times, [frame["actors"][actor][key] for frame in frames]) for key in ("x_m", "y_m"))
    size = next(entry["size_m"] for entry in truth["actors"] if entry["name"] == actor)
    mounted = RIG.lidar.position_m
    # Traffic of this scene drives along the road.
    inside = (np.abs(points["x"] + mounted[0] - x) <= size[0] / 2 + 0.3) & (
        np.abs(points["y"] + mounted[1] - y) <= size[1] / 2 + 0.3
    )
    kept = points[~inside]
    sweep = Sweep(
        xyz_m=np.stack([kept["x"], kept["y"], kept["z"]], axis=1),
        time_offset_ns=kept["t"],
        ring=kept["ring"],
        intensity=kept["intensity"],
        surface=np.full(len(kept), -2),
    )
    return cloud_message(stamp_ns, message.header.frame_id, sweep)
