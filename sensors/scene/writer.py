"""From a world and a rig to a recording: who captures what when, and when the recorder gets it."""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError, DeploymentError
from rt_sched.units import NS_PER_S
from sensors.scene.rig import Camera, CaptureTiming, Imu, Lidar, Rig
from sensors.scene.world import World

Vector = npt.NDArray[np.float64]

#: The device clock at the start of every scene.
EPOCH_NS = 1_700_000_000 * NS_PER_S

_GRAVITY_M_S2 = 9.80665


@dataclass(frozen=True, slots=True)
class SceneSummary:
    """What was written. `messages`: count per topic, in the order of the file's channels."""

    path: Path
    sha256: str
    size_bytes: int
    duration_ns: int
    messages: dict[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class _Stream:
    """One sensor's topic. `serialise(capture since start, sample number)` gives the message's bytes."""

    topic: str
    schema: str
    timing: CaptureTiming
    key: int
    serialise: Callable[[int, int], bytes]


def write_scene(
    world: World,
    rig: Rig,
    path: str | Path,
    *,
    duration_s: float,
    cameras: Sequence[str] | None = None,
    seed: int,
    advance: Callable[[int, int], None] | None = None,
) -> SceneSummary:
    """Record `world` with `rig` for `duration_s` into the MCAP file `path`; only the named cameras where given.

    Header stamps are capture instants on the device clock, log times are later by each sensor's latency. A sensor's
    data depend on the seed and its own samples only: fewer cameras or a shorter time give a part of the same data.
    Equal arguments give equal bytes on the same versions of numpy, opencv, rosbags and zstandard.
    `advance` is told the time reached and the whole, in ns. One message is held at a time, whatever the duration.
    Raises DataError for an unknown camera, DeploymentError where the file cannot be written.
    """
    duration_ns = round(duration_s * NS_PER_S)
    streams = _streams(world, rig, _chosen(rig, cameras), seed)
    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    try:
        _write_file(partial, streams, duration_ns, advance)
        with partial.open("rb") as written:
            digest = hashlib.file_digest(written, "sha256").hexdigest()
        size_bytes = partial.stat().st_size
        partial.replace(target)
    except OSError as error:
        raise DeploymentError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
    counts = {stream.topic: stream.timing.count(duration_ns) for stream in streams}
    return SceneSummary(target, digest, size_bytes, duration_ns, counts)


def _write_file(
    path: Path, streams: Sequence[_Stream], duration_ns: int, advance: Callable[[int, int], None] | None
) -> None:
    from sensors.scene.mcap_file import McapFile
    from sensors.scene.ros2_messages import definition_of

    with path.open("wb") as out:
        log = McapFile(out)
        for stream in streams:
            log.add_channel(stream.topic, stream.schema, definition_of(stream.schema))
        # A stream's log times ascend, as latencies vary by less than a period.
        samples = heapq.merge(*(_samples(index, stream, duration_ns) for index, stream in enumerate(streams)))
        for log_ns, index, number, capture_ns in samples:
            stream = streams[index]
            log.add_message(
                stream.topic,
                stream.serialise(capture_ns, number),
                log_time_ns=EPOCH_NS + log_ns,
                publish_time_ns=EPOCH_NS + capture_ns,
            )
            if advance is not None:
                advance(capture_ns, duration_ns)
        log.finish()


def _samples(index: int, stream: _Stream, duration_ns: int) -> Iterator[tuple[int, int, int, int]]:
    """Log time, stream, number and capture time of a stream's samples; the file is in that order."""
    for number in range(stream.timing.count(duration_ns)):
        capture_ns = stream.timing.capture_ns(number)
        yield capture_ns + _latency_ns(stream, number), index, number, capture_ns


def _chosen(rig: Rig, names: Sequence[str] | None) -> tuple[Camera, ...]:
    if names is None:
        return rig.cameras
    known = [camera.name for camera in rig.cameras]
    for name in names:
        if name not in known:
            raise DataError(f"the rig has no camera {name!r}; it has {', '.join(known)}")
    return tuple(camera for camera in rig.cameras if camera.name in names)


def _streams(world: World, rig: Rig, cameras: Sequence[Camera], seed: int) -> list[_Stream]:
    streams = [_camera_stream(world, camera, seed) for camera in cameras]
    return [*streams, _lidar_stream(world, rig.lidar, seed), _imu_stream(world, rig.imu, seed)]


def _camera_stream(world: World, camera: Camera, seed: int) -> _Stream:
    import cv2

    from sensors.scene.render import CameraRenderer
    from sensors.scene.ros2_messages import IMAGE, image_message

    key = _key(seed, camera.topic)
    renderer = CameraRenderer(world, camera, key)
    options = [cv2.IMWRITE_JPEG_QUALITY, camera.jpeg_quality, cv2.IMWRITE_JPEG_OPTIMIZE, 1]

    def serialise(capture_ns: int, number: int) -> bytes:
        _, jpeg = cv2.imencode(".jpg", renderer.render(capture_ns, number), options)
        return image_message(EPOCH_NS + capture_ns, camera.frame_id, jpeg.tobytes())

    return _Stream(camera.topic, IMAGE, camera.timing, key, serialise)


def _lidar_stream(world: World, lidar: Lidar, seed: int) -> _Stream:
    from sensors.scene.lidar import LidarRenderer
    from sensors.scene.ros2_messages import CLOUD, cloud_message

    key = _key(seed, lidar.topic)
    renderer = LidarRenderer(world, lidar, key)

    def serialise(capture_ns: int, number: int) -> bytes:
        return cloud_message(EPOCH_NS + capture_ns, lidar.frame_id, renderer.sweep(capture_ns, number))

    return _Stream(lidar.topic, CLOUD, lidar.timing, key, serialise)


def _imu_stream(world: World, imu: Imu, seed: int) -> _Stream:
    from sensors.scene.ros2_messages import IMU, imu_message

    key = _key(seed, imu.topic)

    def serialise(capture_ns: int, number: int) -> bytes:
        noise = _draw(key, number).standard_normal((2, 3))
        rates, force = felt(world, capture_ns)
        return imu_message(
            EPOCH_NS + capture_ns,
            imu.frame_id,
            rates + np.array(imu.gyro_bias_rad_s) + noise[0] * imu.gyro_noise_rad_s,
            force + np.array(imu.accelerometer_bias_m_s2) + noise[1] * imu.accelerometer_noise_m_s2,
            imu.gyro_noise_rad_s,
            imu.accelerometer_noise_m_s2,
        )

    return _Stream(imu.topic, IMU, imu.timing, key, serialise)


def felt(world: World, time_ns: int) -> tuple[Vector, Vector]:
    """Angular velocity in rad/s and specific force in m/s^2 at the ego vehicle's reference point, vehicle frame.

    Turns and heave come from differences over 20 and 200 ms, which rounds the kinks of the ground as springs do.
    """
    ego = world.ego_at(time_ns)
    if world.terrain.level and not world.ego.trajectory.shifts:
        return np.zeros(3), np.array([ego.acceleration_m_s2, 0.0, _GRAVITY_M_S2])
    before, after = (world.ego_at(time_ns + step_ns) for step_ns in (-10_000_000, 10_000_000))
    yaw_rate, pitch_rate = (after.yaw_rad - before.yaw_rad) / 0.02, (after.pitch_rad - before.pitch_rad) / 0.02
    low, high = (world.ego_at(time_ns + step_ns).z_m for step_ns in (-100_000_000, 100_000_000))
    heave = (low + high - 2.0 * ego.z_m) / 0.01
    c, s = math.cos(ego.pitch_rad), math.sin(ego.pitch_rad)
    force = (ego.acceleration_m_s2 + _GRAVITY_M_S2 * s, ego.speed_m_s * yaw_rate, _GRAVITY_M_S2 * c + heave)
    # The y axis points left, so the nose goes up about its negative.
    return np.array([0.0, -pitch_rate, yaw_rate]), np.array(force)


def _latency_ns(stream: _Stream, number: int) -> int:
    spread = stream.timing.latency_spread_ns
    # The data of sample n are drawn from (key, n); latencies from numbers that no sample has.
    return stream.timing.latency_ns + int(_draw(stream.key, (1 << 32) + number).integers(-spread, spread + 1))


def _draw(key: int, number: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=[key, number]))


def _key(seed: int, topic: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed} {topic}".encode()).digest()[:8], "little")
