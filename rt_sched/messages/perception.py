"""What perception stages exchange.

Vehicle frame: origin at the LiDAR's ground projection unless the system file says otherwise,
x forward, y left, z up, metres and radians.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rt_sched.messages.control import SensorView
from rt_sched.messages.e2e import E2EHeader
from rt_sched.messages.sensor import Deskew


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A network's input or output set, with the geometry that maps it back to the recorded image.

    `arrays`: name -> array, in the model's own order. `recorded_height`, `recorded_width`: size in pixels of the
    recorded frame. `scale_xy`, `offset_xy`: recorded pixel = (network pixel - offset) / scale.
    `network_height`, `network_width`: size of the network's input image in pixels; 0 when its input is no image.
    """

    capture_time_ns: int
    frame_id: str
    names: tuple[str, ...]
    arrays: tuple[npt.NDArray[np.generic], ...]
    recorded_height: int
    recorded_width: int
    scale_xy: tuple[float, float]
    offset_xy: tuple[float, float] = (0.0, 0.0)
    network_height: int = 0
    network_width: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ImageTracks:
    """Which boxes of one camera show the same object from frame to frame; one entry per detection of its frame.

    `ids`: int64[n], from 1 on and never used again; 0 where the box belongs to no confirmed track. `ages_ns`: int64[n],
    capture time since the track's first box. `velocities_px_s`: float32[n, 2] of the box's centre; `growth_per_s`:
    float32[n], how fast the box grows relative to its size: its inverse is the time to contact. Zero where `ids` is.
    `labels`: the class that the track's boxes had most. `born_ids`, `ended_ids`: int64, tracks confirmed in this frame
    and confirmed tracks given up in it, ascending.
    """

    ids: npt.NDArray[np.int64]
    ages_ns: npt.NDArray[np.int64]
    velocities_px_s: npt.NDArray[np.float32]
    growth_per_s: npt.NDArray[np.float32]
    labels: tuple[str, ...]
    born_ids: npt.NDArray[np.int64]
    ended_ids: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Detections2D:
    """Boxes in one camera frame.

    `boxes_px`: float32[n, 4] as x_min, y_min, x_max, y_max in recorded pixels; `scores`: float32[n] in 0..1;
    `class_ids`: int32[n]; `class_names`: one name per entry of `class_ids`. `tracks`: where boxes are followed from
    frame to frame.
    """

    capture_time_ns: int
    frame_id: str
    camera: str
    image_height: int
    image_width: int
    boxes_px: npt.NDArray[np.float32]
    scores: npt.NDArray[np.float32]
    class_ids: npt.NDArray[np.int32]
    class_names: tuple[str, ...]
    tracks: ImageTracks | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RoadCorridor:
    """The strip of road ahead that one camera sees as drivable, in the vehicle frame (origin on flat ground).

    `stations_m`: float64[n], rising distances along x. `left_m`, `right_m`: float64[n], y of its edges there, left
    larger. `left_seen`, `right_seen`: bool[n], whether the edge was seen there; else it is carried on from where it
    was. `confidence`: 0..1, share of the wanted length and edges that was seen; 0 when the corridor is only assumed.
    `method`: "markings" or "segmentation".
    """

    capture_time_ns: int
    frame_id: str
    camera: str
    method: str
    stations_m: npt.NDArray[np.float64]
    left_m: npt.NDArray[np.float64]
    right_m: npt.NDArray[np.float64]
    left_seen: npt.NDArray[np.bool_]
    right_seen: npt.NDArray[np.bool_]
    confidence: float

    @property
    def polygon_m(self) -> npt.NDArray[np.float64]:
        """Corners float64[2n, 2] (x, y): along the right edge, back along the left one."""
        right = np.stack((self.stations_m, self.right_m), axis=1)
        left = np.stack((self.stations_m, self.left_m), axis=1)
        return np.concatenate((right, left[::-1]))


@dataclass(frozen=True, slots=True, eq=False)
class Boxes3D:
    """Objects found in one LiDAR sweep.

    `centers_m`: float32[n, 3], `sizes_m`: float32[n, 3] (length, width, height), `yaws_rad`: float32[n],
    `num_points`: int32[n]. All in the LiDAR frame named by `frame_id`.
    `labels`: one word per box, () where boxes are not classified. `ground_z_m`: float32[n], height of the ground under
    each box. `time_offset_ns`: int32[n], mean instant of the box's points since `capture_time_ns`; where `deskew` is
    FULL a moving object still lies where it was at that instant, seen from the vehicle at `capture_time_ns`.
    `bounds_m`: float32[n, 4], x_min, y_min, x_max, y_max of the box's points along the frame's axes; a few single
    points that lie before or behind all others in x do not count. These three are None where they are not known.
    """

    capture_time_ns: int
    frame_id: str
    centers_m: npt.NDArray[np.float32]
    sizes_m: npt.NDArray[np.float32]
    yaws_rad: npt.NDArray[np.float32]
    num_points: npt.NDArray[np.int32]
    labels: tuple[str, ...] = ()
    ground_z_m: npt.NDArray[np.float32] | None = None
    time_offset_ns: npt.NDArray[np.int32] | None = None
    deskew: Deskew = Deskew.RAW
    bounds_m: npt.NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MotionHistory:
    """How the vehicle moved lately, interval by interval, without a gap.

    `time_ns`: int64[k + 1], ascending, the bounds of the intervals. Over interval i, in the axes of the vehicle at
    its start: `turn_rad`: float64[k, 3], rotation vector; `move_m`: float64[k, 3], way of the vehicle's origin. The
    way rests on the speed estimate and means something only where `EgoMotion.speed_m_s` is known.
    """

    time_ns: npt.NDArray[np.int64]
    turn_rad: npt.NDArray[np.float64]
    move_m: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class MotionState:
    """Where inertial navigation puts the vehicle, and how sure that is (one standard deviation).

    World: z up, x along the vehicle's first heading, origin where the epoch began. `orientation_wxyz` turns
    vehicle axes into world axes. Biases are those of the sensors, in vehicle axes.
    """

    orientation_wxyz: tuple[float, float, float, float]
    velocity_m_s: tuple[float, float, float]
    position_m: tuple[float, float, float]
    gyro_bias_rad_s: tuple[float, float, float]
    accelerometer_bias_m_s2: tuple[float, float, float]
    tilt_sigma_rad: float
    heading_sigma_rad: float
    velocity_sigma_m_s: float
    position_sigma_m: float


@dataclass(frozen=True, slots=True, eq=False)
class EgoMotion:
    """Motion of the vehicle from the IMU: yaw rate in rad/s, forward acceleration in m/s^2, and the integral of both
    since start: heading in rad and change of forward speed in m/s.

    `speed_m_s`: forward speed, None while no standstill has told it or its uncertainty has grown too large.
    `at_rest`: the vehicle stands. `flags`: what was wrong with the samples behind this message, in words.
    """

    capture_time_ns: int
    frame_id: str
    yaw_rate_rad_s: float
    forward_acceleration_m_s2: float
    heading_rad: float
    speed_change_m_s: float
    speed_m_s: float | None = None
    at_rest: bool = False
    flags: tuple[str, ...] = ()
    state: MotionState | None = None
    history: MotionHistory | None = None


@dataclass(frozen=True, slots=True)
class SensorWeight:
    """What one sensor counts in a fused result.

    `weight`: 0 for a lost view, else its share, at most 1, of what the sensors of its kind say about the directions
    that it covers. `left_out`: its captures so far that were too old to be fused.
    """

    sensor: str
    weight: float
    left_out: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class TrackedObjects:
    """Fused objects at `capture_time_ns`, the instant to which they were carried.

    `track_ids`: int64[n]; `positions_m`: float64[n, 2] (x, y) and `velocities_m_s`: float64[n, 2] relative to the
    ego vehicle; `sizes_m`: float64[n, 3]; `labels`: one class name per object ("unknown" without a camera's word);
    `scores`: float64[n]; `seen_by`: per object the sensors that confirmed it in this cycle.
    `views`: the freshest data of each sensor that this result used.
    `accelerations_m_s2`: float64[n, 2], of the objects over ground; `covariances`: float64[n, 6, 6] of position,
    velocity and acceleration (x, y each) in SI units; None where the producer knows neither.
    `weights`: per sensor what it counted. `ego_speed_m_s`: the vehicle's speed over ground where it is known.
    """

    capture_time_ns: int
    frame_id: str
    track_ids: npt.NDArray[np.int64]
    positions_m: npt.NDArray[np.float64]
    velocities_m_s: npt.NDArray[np.float64]
    sizes_m: npt.NDArray[np.float64]
    labels: tuple[str, ...]
    scores: npt.NDArray[np.float64]
    seen_by: tuple[tuple[str, ...], ...]
    views: tuple[SensorView, ...]
    accelerations_m_s2: npt.NDArray[np.float64] | None = None
    covariances: npt.NDArray[np.float64] | None = None
    weights: tuple[SensorWeight, ...] = ()
    ego_speed_m_s: float | None = None
    header: E2EHeader | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ObjectChanges:
    """What has changed of tracked objects since the message before: what travels to another device.

    `sequence`: number of the message, from 1. `full`: the message holds every object, whatever was sent before; a
    receiver that joins late or that missed a sequence number waits for one. `changed`: the objects that are new or
    that moved otherwise than their last sent state says, each complete; also carries views and weights.
    `created_ids`: those of `changed` that the message before did not hold; `removed_ids`: objects that are gone.
    Both int64[n], ascending.
    """

    capture_time_ns: int
    frame_id: str
    sequence: int
    full: bool
    changed: TrackedObjects
    created_ids: npt.NDArray[np.int64]
    removed_ids: npt.NDArray[np.int64]
    header: E2EHeader | None = None
