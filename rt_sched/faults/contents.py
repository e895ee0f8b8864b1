"""What faults do to the content of one message: to its bytes as they travel, or to what they hold."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from rt_sched.faults.script import Damage, Injection
from rt_sched.messages import EncodedImage, ImuSample, PointCloud
from rt_sched.messages.sensor import SECTORS
from sensors.pixels import decode_bgr

#: The end of the range of automotive IMUs: 2000 degrees a second, and 16 g.
IMU_RANGE_RAD_S, IMU_RANGE_M_S2 = math.radians(2000.0), 16 * 9.80665
#: Bytes at the front of a message in which its header lies, which is not damaged, and one of how many flips a bit.
_HEADER_BYTES, _BYTES_PER_FLIP = 64, 200
_JPEG_QUALITY = 90


def damaged_bytes(fault: Injection, data: memoryview, seed: int) -> memoryview:
    """The bytes of a serialised message: half of them, or all with flipped bits behind the header."""
    if fault.how is Damage.CUT:
        return data[: max(len(data) // 2, _HEADER_BYTES)]
    flipped = np.frombuffer(data, np.uint8).copy()
    body = flipped[_HEADER_BYTES:]
    rng = np.random.default_rng(seed)
    at = rng.choice(len(body), size=min(len(body), len(body) // _BYTES_PER_FLIP + 1), replace=False)
    body[at] ^= (1 << rng.integers(0, 8, len(at))).astype(np.uint8)
    return flipped.data.toreadonly()


def altered(fault: Injection, message: Any) -> Any:
    """The decoded message as the fault leaves it. Raises DataError where a picture cannot be read."""
    if isinstance(message, EncodedImage):
        return _picture(fault, message)
    if isinstance(message, PointCloud) and fault.kind_name == "lidar.sector":
        return _without_sector(message, fault.from_deg, fault.to_deg)
    if isinstance(message, ImuSample) and fault.kind_name == "imu.saturate":
        return dataclasses.replace(
            message,
            angular_velocity_rad_s=np.full(3, IMU_RANGE_RAD_S),
            linear_acceleration_m_s2=np.full(3, IMU_RANGE_M_S2),
        )
    return message


def _picture(fault: Injection, image: EncodedImage) -> EncodedImage:
    import cv2

    bgr = decode_bgr(image).bgr
    if fault.kind_name == "camera.black":
        changed = np.zeros_like(bgr)
    elif fault.kind_name == "camera.saturate":
        changed = np.full_like(bgr, 255)
    else:
        side = 2 * fault.radius_px + 1
        changed = np.asarray(cv2.blur(bgr, (side, side)), np.uint8)
    if image.encoding in ("jpeg", "png"):
        options = [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY] if image.encoding == "jpeg" else []
        data = cv2.imencode(f".{image.encoding}", changed, options)[1].tobytes()
        return dataclasses.replace(image, data=data)
    height, width = changed.shape[:2]
    return dataclasses.replace(
        image, encoding="bgr8", data=changed.tobytes(), height=height, width=width, row_bytes=3 * width
    )


def _without_sector(cloud: PointCloud, from_deg: Fraction, to_deg: Fraction) -> PointCloud:
    """Without the points from one direction counter-clockwise to the other."""
    angle = np.degrees(np.arctan2(cloud.xyz_m[:, 1], cloud.xyz_m[:, 0]))
    keep = ~_within(angle, from_deg, to_deg)
    return dataclasses.replace(
        cloud,
        xyz_m=cloud.xyz_m[keep],
        intensity=cloud.intensity[keep],
        ring=None if cloud.ring is None else cloud.ring[keep],
        time_offset_ns=None if cloud.time_offset_ns is None else cloud.time_offset_ns[keep],
        fired=None if cloud.fired is None else _not_fired(cloud.fired, from_deg, to_deg),
    )


def _within(angle_deg: npt.NDArray[np.floating[Any]], from_deg: Fraction, to_deg: Fraction) -> npt.NDArray[np.bool_]:
    inside: npt.NDArray[np.bool_] = (angle_deg - float(from_deg)) % 360.0 <= float((to_deg - from_deg) % 360)
    return inside


def _not_fired(fired: npt.NDArray[np.int64], from_deg: Fraction, to_deg: Fraction) -> npt.NDArray[np.int64]:
    """As if the packets of all sectors that lie whole between the directions had not come."""
    edge_deg = np.arange(SECTORS + 1) * (360 / SECTORS) - 180
    begin, middle, end = edge_deg[:-1], (edge_deg[:-1] + edge_deg[1:]) / 2, edge_deg[1:]
    whole = np.logical_and.reduce([_within(angle, from_deg, to_deg) for angle in (begin, middle, end)])
    return np.where(whole, 0, fired)


def draw(seed: int, *what: object) -> int:
    """64 bits that depend on the seed and on what is drawn, and on nothing else."""
    text = "\0".join(map(str, (seed, *what)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
