"""From a world and a rig to a recording: who captures what when, and when the recorder gets it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rt_sched.errors import DataError, DeploymentError
from rt_sched.units import NS_PER_S
from sensors.scene.rig import Camera, CaptureTiming, Imu, Lidar, Rig
from sensors.scene.world import World

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
) -> SceneSummary:
    """Record `world` with `rig` for `duration_s` into the MCAP file `path`; only the named cameras where given.

    Header stamps are capture instants on the device clock, log times are later by each sensor's latency. A sensor's
    data depend on the seed and its own samples only: fewer cameras or a shorter time give a part of the same data.
    Equal arguments give equal bytes on the same versions of numpy, opencv, rosbags and zstandard.
    Raises DataError for an unknown camera, DeploymentError where the file cannot be written.
    """
    duration_ns = round(duration_s * NS_PER_S)
    streams = _streams(world, rig, _chosen(rig, cameras), seed)
    # (log time, stream, number, capture): the order of the file.
    samples = sorted(
        (capture_ns + _latency_ns(stream, number), index, number, capture_ns)
        for index, stream in enumerate(streams)
        for number in range(stream.timing.count(duration_ns))
        for capture_ns in (stream.timing.capture_ns(number),)
    )
    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    try:
        _write_file(partial, streams, samples)
        data = partial.read_bytes()
        partial.replace(target)
    except OSError as error:
        raise DeploymentError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
    counts = {stream.topic: stream.timing.count(duration_ns) for stream in streams}
    return SceneSummary(target, hashlib.sha256(data).hexdigest(), len(data), duration_ns, counts)


def _write_file(path: Path, streams: Sequence[_Stream], samples: Sequence[tuple[int, int, int, int]]) -> None:
    from sensors.scene.mcap_file import McapFile
    from sensors.scene.ros2_messages import definition_of

    with path.open("wb") as out:
        log = McapFile(out)
        for stream in streams:
            log.add_channel(stream.topic, stream.schema, definition_of(stream.schema))
        for log_ns, index, number, capture_ns in samples:
            stream = streams[index]
            log.add_message(
                stream.topic,
                stream.serialise(capture_ns, number),
                log_time_ns=EPOCH_NS + log_ns,
                publish_time_ns=EPOCH_NS + capture_ns,
            )
        log.finish()


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
        # Travel is straight and level: the vehicle does not turn, and gravity is felt along z alone.
        force = np.array([world.ego_at(capture_ns).acceleration_m_s2, 0.0, _GRAVITY_M_S2])
        return imu_message(
            EPOCH_NS + capture_ns,
            imu.frame_id,
            np.array(imu.gyro_bias_rad_s) + noise[0] * imu.gyro_noise_rad_s,
            force + np.array(imu.accelerometer_bias_m_s2) + noise[1] * imu.accelerometer_noise_m_s2,
            imu.gyro_noise_rad_s,
            imu.accelerometer_noise_m_s2,
        )

    return _Stream(imu.topic, IMU, imu.timing, key, serialise)


def _latency_ns(stream: _Stream, number: int) -> int:
    spread = stream.timing.latency_spread_ns
    # The data of sample n are drawn from (key, n); latencies from numbers that no sample has.
    return stream.timing.latency_ns + int(_draw(stream.key, (1 << 32) + number).integers(-spread, spread + 1))


def _draw(key: int, number: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=[key, number]))


def _key(seed: int, topic: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed} {topic}".encode()).digest()[:8], "little")
