"""Recordings that the tests write themselves, so that every format is covered without any data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from mcap.writer import CompressionType, IndexType, Writer
from rosbags.rosbag1 import Writer as BagWriter
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Rosbag2Writer
from rosbags.typesys import Stores, get_typestore

sys.path.insert(0, str(Path(__file__).parent))

SHARED_DATA = (Path(__file__).resolve().parents[2] / "../shared/data").resolve()
NS = 10**9


class Item(NamedTuple):
    """One message to write."""

    topic: str
    log_ns: int
    message: Any


class Ros:
    """Messages of one ROS generation, and the files that hold them."""

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.store = get_typestore(Stores.ROS1_NOETIC if generation == 1 else Stores.ROS2_HUMBLE)

    def new(self, name: str, /, **fields: Any) -> Any:
        return self.store.types[name](**fields)

    def header(self, stamp_ns: int, frame_id: str) -> Any:
        stamp = self.new("builtin_interfaces/msg/Time", sec=stamp_ns // NS, nanosec=stamp_ns % NS)
        extra = {"seq": 0} if self.generation == 1 else {}
        return self.new("std_msgs/msg/Header", stamp=stamp, frame_id=frame_id, **extra)

    def image(self, stamp_ns: int, encoding: str, height: int, width: int, step: int, data: Any, **more: Any) -> Any:
        return self.new(
            "sensor_msgs/msg/Image",
            header=self.header(stamp_ns, "cam"),
            height=height,
            width=width,
            encoding=encoding,
            is_bigendian=more.get("big_endian", 0),
            step=step,
            data=np.frombuffer(bytes(data), np.uint8),
        )

    def compressed(self, stamp_ns: int, image_format: str, data: bytes) -> Any:
        return self.new(
            "sensor_msgs/msg/CompressedImage",
            header=self.header(stamp_ns, "cam"),
            format=image_format,
            data=np.frombuffer(data, np.uint8),
        )

    def cloud(self, stamp_ns: int, points: np.ndarray, *, big_endian: bool = False, **changes: Any) -> Any:
        """A cloud of the fields of a structured array, of one or two dimensions."""
        rows = points if points.ndim == 2 else points.reshape(1, -1)
        datatypes = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 8}
        fields = [
            self.new(
                "sensor_msgs/msg/PointField",
                name=name,
                offset=points.dtype.fields[name][1],
                datatype=datatypes[points.dtype[name].str[1:]],
                count=1,
            )
            for name in points.dtype.names
        ]
        values: dict[str, Any] = {
            "height": rows.shape[0],
            "width": rows.shape[1],
            "fields": fields,
            "is_bigendian": big_endian,
            "point_step": points.dtype.itemsize,
            "row_step": points.dtype.itemsize * rows.shape[1],
            "data": np.frombuffer(rows.tobytes(), np.uint8),
            "is_dense": True,
        }
        return self.new("sensor_msgs/msg/PointCloud2", header=self.header(stamp_ns, "lidar"), **(values | changes))

    def imu(self, stamp_ns: int, rate: Sequence[float] = (0.1, 0.2, 0.3), force: Sequence[float] = (1, 2, 9.8)) -> Any:
        def vector(values: Sequence[float]) -> Any:
            return self.new("geometry_msgs/msg/Vector3", **dict(zip("xyz", map(float, values), strict=True)))

        unknown = np.full(9, np.nan)
        return self.new(
            "sensor_msgs/msg/Imu",
            header=self.header(stamp_ns, "imu"),
            orientation=self.new("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=0.0, w=1.0),
            orientation_covariance=unknown,
            angular_velocity=vector(rate),
            angular_velocity_covariance=unknown,
            linear_acceleration=vector(force),
            linear_acceleration_covariance=unknown,
        )

    def serialize(self, message: Any) -> bytes:
        name = message.__msgtype__
        if self.generation == 1:
            return bytes(self.store.serialize_ros1(message, name))
        return bytes(self.store.serialize_cdr(message, name))

    def write_mcap(self, path: Path, items: Sequence[Item], *, summary: bool = True, **options: Any) -> Path:
        """An MCAP file; a message may also be raw bytes, then its topic is called by its type."""
        settings: dict[str, Any] = {"compression": CompressionType.ZSTD, "chunk_size": 4096} | options
        if not summary:
            settings |= {
                "index_types": IndexType.NONE,
                "repeat_channels": False,
                "repeat_schemas": False,
                "use_statistics": False,
                "use_summary_offsets": False,
            }
        with path.open("wb") as stream:
            writer = Writer(stream, **settings)
            writer.start(profile=f"ros{self.generation}", library="tests")
            channels: dict[tuple[str, str], int] = {}
            for number, (topic, log_ns, message) in enumerate(items):
                name = message.__msgtype__
                if (topic, name) not in channels:
                    text, _ = self.store.generate_msgdef(name, ros_version=self.generation)
                    schema = writer.register_schema(name, f"ros{self.generation}msg", text.encode())
                    encoding = "ros1" if self.generation == 1 else "cdr"
                    channels[topic, name] = writer.register_channel(topic, encoding, schema)
                writer.add_message(channels[topic, name], log_ns, self.serialize(message), log_ns, number)
            writer.finish()
        return path

    def write_bag(self, path: Path, items: Sequence[Item], compression: str = "none", chunk_bytes: int = 4096) -> Path:
        writer = BagWriter(path)
        if compression != "none":
            writer.set_compression(BagWriter.CompressionFormat[compression.upper()])
        writer.chunk_threshold = chunk_bytes
        with writer:
            connections: dict[str, Any] = {}
            for topic, log_ns, message in items:
                if topic not in connections:
                    connections[topic] = writer.add_connection(topic, message.__msgtype__, typestore=self.store)
                writer.write(connections[topic], log_ns, self.serialize(message))
        return path

    def write_rosbag2(self, folder: Path, items: Sequence[Item]) -> Path:
        with Rosbag2Writer(folder, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
            connections: dict[str, Any] = {}
            for topic, log_ns, message in items:
                if topic not in connections:
                    connections[topic] = writer.add_connection(topic, message.__msgtype__, typestore=self.store)
                writer.write(connections[topic], log_ns, self.serialize(message))
        return folder

    def drive(self, count: int = 12, start_ns: int = 1_700_000_000 * NS) -> list[Item]:
        """A small drive: camera (raw), LiDAR, IMU; log times 2 ms after capture, in order."""
        random = np.random.default_rng(5)
        items = []
        for number in range(count):
            stamp = start_ns + number * 100_000_000
            pixels = random.integers(0, 255, (12, 16, 3), np.uint8)
            points = np.zeros(20, [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("intensity", "<f4")])
            points["x"] = random.uniform(1, 50, 20)
            items.append(Item("/cam", stamp + 2_000_000, self.image(stamp, "bgr8", 12, 16, 48, pixels)))
            items.append(Item("/lidar", stamp + 3_000_000, self.cloud(stamp, points)))
            items.append(Item("/imu", stamp + 4_000_000, self.imu(stamp, force=(number, 0, 9.8))))
        return items


@pytest.fixture(scope="session")
def ros2() -> Ros:
    return Ros(2)


@pytest.fixture(scope="session")
def ros1() -> Ros:
    return Ros(1)


@pytest.fixture
def shared_data() -> Path:
    """Data that is not part of the project; tests that need it skip where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"{SHARED_DATA} is missing")
    return SHARED_DATA
