"""Recorded ROS messages to the product's own message types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError
from rt_sched.messages import EncodedImage, ImuSample, PointCloud
from rt_sched.messages.sensor import SensorMessage
from rt_sched.ports.source import RecordedMessage
from rt_sched.units import NS_PER_S
from sensors.image_headers import BYTES_PER_PIXEL, compressed_encoding, raw_encoding
from sensors.point_cloud2 import CloudField, CloudLayout, decode_cloud
from sensors.ros_types import (
    COMPRESSED_IMAGE,
    IMAGE,
    IMU,
    POINT_CLOUD,
    VELODYNE_SCAN,
    SerializedMessage,
    deserialize,
)
from sensors.velodyne import decode_scan


def decode_message(message: RecordedMessage) -> SensorMessage:
    """The message as EncodedImage, PointCloud or ImuSample; raises DataError naming topic and reason.

    `capture_time_ns` is the recorded stamp, 0 where the recorded one is zero (then the message's own is None).
    """
    if message.problem is not None:
        raise DataError(f"{message.topic} message {message.index}: {message.problem}")
    payload: SerializedMessage = message.payload
    stamp_ns = message.capture_time_ns or 0
    try:
        ros = deserialize(payload)
        return _DECODERS[payload.channel.schema](ros, stamp_ns, str(ros.header.frame_id))
    except DataError as error:
        raise DataError(f"{message.topic} message {message.index}: {error}") from None
    except (AttributeError, TypeError) as error:
        reason = f"the file's definition of {payload.channel.schema} is not the usual one ({error})"
        raise DataError(f"{message.topic} message {message.index}: {reason}") from None


def _bytes(array: Any) -> memoryview:
    return np.ascontiguousarray(array, np.uint8).data.toreadonly()


def _image(ros: Any, stamp_ns: int, frame_id: str) -> EncodedImage:
    height, width, row_bytes = int(ros.height), int(ros.width), int(ros.step)
    if height == 0 or width == 0:
        raise DataError(f"image of size {width} x {height} has no pixels")
    encoding = raw_encoding(ros.encoding)
    if row_bytes < width * BYTES_PER_PIXEL[encoding]:
        raise DataError(f"image row of {row_bytes} bytes is short of {width} pixels of {encoding}")
    data = _bytes(ros.data)
    if len(data) < height * row_bytes:
        raise DataError(f"image data of {len(data)} bytes is short of {height} rows of {row_bytes} bytes")
    return EncodedImage(stamp_ns, frame_id, encoding, data, height, width, row_bytes, bool(ros.is_bigendian))


def _compressed_image(ros: Any, stamp_ns: int, frame_id: str) -> EncodedImage:
    data = _bytes(ros.data)
    return EncodedImage(stamp_ns, frame_id, compressed_encoding(str(ros.format), data), data)


def _point_cloud(ros: Any, stamp_ns: int, frame_id: str) -> PointCloud:
    fields = [CloudField(str(f.name), int(f.offset), int(f.datatype), int(f.count)) for f in ros.fields]
    layout = CloudLayout(
        int(ros.height), int(ros.width), fields, bool(ros.is_bigendian), int(ros.point_step), int(ros.row_step)
    )
    return decode_cloud(layout, _bytes(ros.data), stamp_ns, frame_id)


def _velodyne_scan(ros: Any, stamp_ns: int, frame_id: str) -> PointCloud:
    packets = [
        (int(packet.stamp.sec) * NS_PER_S + int(packet.stamp.nanosec), _bytes(packet.data)) for packet in ros.packets
    ]
    return decode_scan(packets, stamp_ns, frame_id)


def _imu(ros: Any, stamp_ns: int, frame_id: str) -> ImuSample:
    angular, linear = _vector(ros.angular_velocity), _vector(ros.linear_acceleration)
    if not (np.isfinite(angular).all() and np.isfinite(linear).all()):
        raise DataError("IMU sample with values that are not finite")
    return ImuSample(stamp_ns, frame_id, angular, linear)


def _vector(ros: Any) -> npt.NDArray[np.float64]:
    return np.array([ros.x, ros.y, ros.z], np.float64)


_DECODERS: dict[str, Callable[[Any, int, str], SensorMessage]] = {
    IMAGE: _image,
    COMPRESSED_IMAGE: _compressed_image,
    POINT_CLOUD: _point_cloud,
    VELODYNE_SCAN: _velodyne_scan,
    IMU: _imu,
}
