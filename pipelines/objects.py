"""The list of tracked objects: one Kalman filter each, labels, and who saw them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pipelines.tracking import EgoRates, TrackFilter
from rt_sched.messages import SensorView, SensorWeight, TrackedObjects
from rt_sched.units import NS_PER_MS

Float = npt.NDArray[np.float64]

#: Typical length, width, height in metres, for objects that only a camera has seen.
TYPICAL_SIZE_M = {
    "person": (0.6, 0.6, 1.7),
    "bicycle": (1.8, 0.6, 1.6),
    "motorcycle": (2.2, 0.8, 1.5),
    "car": (4.5, 1.8, 1.5),
    "bus": (11.0, 2.5, 3.2),
    "truck": (8.0, 2.5, 3.2),
}

#: Label of an object that no camera has named.
UNKNOWN = "unknown"

#: Velocity that a new object may have relative to the vehicle, along and across its axis, one standard deviation.
#: Little crosses the road fast; without that knowledge two posts of a fence pass for one that flies across.
_NEW_VELOCITY_SIGMA_M_S = (10.0, 2.5)

#: A new object is first taken to stand; while nobody knows how fast the world goes by, to move as the median of so many
#: objects does, for most of the world stands still. From sweep to sweep the posts of a fence are then paired with
#: themselves, not with the next post.
_OBJECTS_FOR_MEDIAN = 5

#: What comes up faster than the standing world does, or flies across, by more than this, is more often a chance match
#: of unrelated things than an object. It needs as many sweeps to be believed, or so many times more camera positions.
_UNLIKELY_M_S = 5.0
_SWEEPS_IF_UNLIKELY = 6
_PLACES_PER_SWEEP = 4

#: So many sweeps in a row may miss an object that is not confirmed.
_MISSES_BEFORE_CONFIRMED = 1

#: So many positions make up for one sweep that does not show the object.
_PLACES_PER_MISS = 6

#: How long an object that only cameras have placed lately is published after the last of them did.
_CAMERA_COAST_NS = 200 * NS_PER_MS

#: So many camera boxes tell an object's apparent height.
_HEIGHT_MEMORY = 90

#: Common to all ranges that cameras tell of one object: the road is not flat and its height not known. Relative.
_CAMERA_RANGE_ERROR = 0.1

#: Older votes for a label count less with every new one.
_LABEL_MEMORY = 0.9


@dataclass(slots=True, eq=False)
class TrackedObject:
    """What is known of one object beside its filter.

    `face`: -1 when the filter follows the object's rear end (smallest x), +1 its front end. The near end is what a
    LiDAR sees in every sweep; the far end comes and goes, and a centre would move with it.
    `size_m`: extent along the vehicle's axes and height. `hits`: sightings so far; `places`: those that gave a
    position, the first at `first_placed_ns`, the last at `last_placed_ns`. `sweeps`: LiDAR sweeps that showed it;
    `misses`: those in a row that did not. `confirmed`: its speed is known.
    """

    track_id: int
    face: int
    size_m: Float
    first_placed_ns: int
    last_seen_ns: int
    last_placed_ns: int
    lidar_seen_ns: int | None = None
    hits: int = 0
    places: int = 0
    misses: int = 0
    sweeps: int = 0
    confirmed: bool = False
    votes: dict[str, float] = field(default_factory=dict)
    camera_score: float = 0.0
    apparent_height_m: float = 0.0
    fills: int = 0
    seen_by: set[str] = field(default_factory=set)

    def fill(self, height_m: float) -> None:
        """A camera's box fits an object of this height at the place where its lower edge meets the road."""
        self.fills = min(self.fills + 1, _HEIGHT_MEMORY)
        self.apparent_height_m += (height_m - self.apparent_height_m) / self.fills

    @property
    def label(self) -> str:
        """The class with the most votes, the first by name among equals."""
        return min(self.votes, key=lambda name: (-self.votes[name], name)) if self.votes else UNKNOWN

    @property
    def score(self) -> float:
        """The latest detection's score; without one, 1 - 1 / (1 + hits)."""
        return self.camera_score if self.votes else 1.0 - 1.0 / (1.0 + self.hits)

    @property
    def evidence(self) -> float:
        """Sweeps that showed the object, or what its positions by cameras are worth where no LiDAR has."""
        return self.sweeps if self.sweeps else self.places / _PLACES_PER_SWEEP

    @property
    def placed_by_camera(self) -> bool:
        """Whether the latest position came from a camera, and with it a size that is typical and not measured."""
        return self.lidar_seen_ns is None or self.last_placed_ns > self.lidar_seen_ns

    def believable(self, now_ns: int) -> bool:
        """Confirmed, and not missing without reason: a young mistake must not fly on.

        A sweep that does not show the object needs `_PLACES_PER_MISS` earlier positions. One that cameras follow has
        left their images when they do not see where it stands for `_CAMERA_COAST_NS`.
        """
        if self.placed_by_camera and now_ns - self.last_placed_ns > _CAMERA_COAST_NS:
            return False
        return self.confirmed and self.places >= _PLACES_PER_MISS * self.misses

    def vote(self, name: str, score: float, weight: float) -> None:
        """A camera whose word has `weight` calls the object `name`."""
        for label in self.votes:
            self.votes[label] *= _LABEL_MEMORY**weight
        self.votes[name] = self.votes.get(name, 0.0) + score * weight
        self.camera_score = score


class ObjectList:
    """All objects, published or not. `items[i]` belongs to row i of `filter`; both in the order of identifiers.

    An object is confirmed by `confirm_hits` positions of which the last is `confirm_ns` younger than the first: before
    that its speed is a guess.
    """

    def __init__(self, motion: TrackFilter, confirm_hits: int, confirm_ns: int) -> None:
        self.filter = motion
        self.items: list[TrackedObject] = []
        self._confirm_hits = confirm_hits
        self._confirm_ns = confirm_ns
        self._next_id = 1
        self._common_speed_m_s = 0.0

    def begin_cycle(self, dt_s: float, ego: EgoRates, standing_m_s: float | None) -> None:
        """Carries all objects to the new instant, seen by nobody yet.

        `standing_m_s`: relative forward speed of what stands, None while the vehicle's own speed is not known.
        """
        self.filter.predict(dt_s, ego)
        if standing_m_s is not None:
            self._common_speed_m_s = standing_m_s
        else:
            speeds = self.filter.mean[[item.confirmed for item in self.items], 2]
            self._common_speed_m_s = float(np.median(speeds)) if len(speeds) >= _OBJECTS_FOR_MEDIAN else 0.0
        for item in self.items:
            item.seen_by.clear()

    def add(
        self, end_m: Float, covariance: Float, face: int, size_m: Float, capture_ns: int, age_s: float
    ) -> TrackedObject:
        """A new object whose `face` end lay at `end_m`: float64[2], `age_s` ago, first captured at `capture_ns`."""
        self.filter.add(end_m, covariance, _NEW_VELOCITY_SIGMA_M_S, self._common_speed_m_s, age_s)
        item = TrackedObject(self._next_id, face, size_m, capture_ns, capture_ns, capture_ns)
        self._next_id += 1
        self.items.append(item)
        return item

    def see(self, item: TrackedObject, sensor: str, capture_ns: int) -> None:
        """`sensor` saw the object at `capture_ns`."""
        item.hits += 1
        item.last_seen_ns = max(item.last_seen_ns, capture_ns)
        item.seen_by.add(sensor)

    def found_by_lidar(self, item: TrackedObject, lidar: str, capture_ns: int) -> None:
        """A box of the sweep captured at `capture_ns` is the object."""
        item.lidar_seen_ns = capture_ns
        item.misses = 0
        item.sweeps += 1
        self.see(item, lidar, capture_ns)
        self.place(item, capture_ns)

    def place(self, item: TrackedObject, capture_ns: int) -> None:
        """What was seen at `capture_ns` gave the object a position."""
        item.places += 1
        item.last_placed_ns = max(item.last_placed_ns, capture_ns)
        long_enough = capture_ns - item.first_placed_ns >= self._confirm_ns
        item.confirmed = item.confirmed or (item.places >= self._confirm_hits and long_enough)

    def turn_face(self, row: int, face: int) -> None:
        """Lets the filter follow the other end from now on, when `face` is that."""
        item = self.items[row]
        self.filter.mean[row, 0] += (face - item.face) * item.size_m[0] / 2.0
        item.face = face

    def drop_lost(self, now_ns: int, coast_ns: int) -> None:
        """Forgets objects not seen for `coast_ns`, and those that a LiDAR found and lost before they were confirmed."""
        self.remove(
            {
                item.track_id
                for item in self.items
                if now_ns - item.last_seen_ns > coast_ns
                or (item.sweeps and not item.confirmed and item.misses > _MISSES_BEFORE_CONFIRMED)
            }
        )

    def remove(self, track_ids: set[int]) -> None:
        """Forgets these objects."""
        keep = np.array([item.track_id not in track_ids for item in self.items], np.bool_)
        self.filter.keep(keep)
        self.items = [item for item, kept in zip(self.items, keep, strict=True) if kept]

    def sizes(self) -> Float:
        """float64[n, 3]."""
        return np.array([item.size_m for item in self.items], np.float64).reshape(-1, 3)

    def faces(self) -> Float:
        """float64[n]."""
        return np.array([item.face for item in self.items], np.float64)

    def _honest_covariances(self, rows: list[int]) -> Float:
        """float64[k, 6, 6]: those of the filter, and along the ray what all camera positions of an object share."""
        covariances = self.filter.covariance[rows]
        for index, row in enumerate(rows):
            if self.items[row].lidar_seen_ns is None:
                error = _CAMERA_RANGE_ERROR * self.filter.mean[row, :2]
                covariances[index, :2, :2] += np.outer(error, error)
        return covariances

    def _unlikely(self) -> npt.NDArray[np.bool_]:
        """Which objects move as few do: bool[n]."""
        ahead, across = self.filter.mean[:, 2], self.filter.mean[:, 3]
        return (ahead < min(self._common_speed_m_s, 0.0) - _UNLIKELY_M_S) | (np.abs(across) > _UNLIKELY_M_S)

    def published(
        self,
        now_ns: int,
        frame_id: str,
        views: tuple[SensorView, ...],
        weights: tuple[SensorWeight, ...],
        ego_speed_m_s: float | None,
    ) -> TrackedObjects:
        """The believable objects, as a message of their own arrays."""
        unlikely = self._unlikely()
        rows = [
            row
            for row, item in enumerate(self.items)
            if item.believable(now_ns) and not (unlikely[row] and item.evidence < _SWEEPS_IF_UNLIKELY)
        ]
        items = [self.items[row] for row in rows]
        mean = self.filter.mean[rows]
        positions = mean[:, :2].copy()
        positions[:, 0] -= (self.faces() * self.sizes()[:, 0] / 2.0)[rows]
        return TrackedObjects(
            capture_time_ns=now_ns,
            frame_id=frame_id,
            track_ids=np.array([item.track_id for item in items], np.int64),
            positions_m=positions,
            velocities_m_s=mean[:, 2:4].copy(),
            sizes_m=self.sizes()[rows],
            labels=tuple(item.label for item in items),
            scores=np.array([item.score for item in items], np.float64),
            seen_by=tuple(tuple(sorted(item.seen_by)) for item in items),
            views=views,
            accelerations_m_s2=mean[:, 4:].copy(),
            covariances=self._honest_covariances(rows),
            weights=weights,
            ego_speed_m_s=ego_speed_m_s,
        )


def near_face(center_x_m: float, half_length_m: float) -> int | None:
    """-1 for an object ahead of the vehicle's origin, +1 for one behind, None for one alongside."""
    if center_x_m - half_length_m > 0.0:
        return -1
    return 1 if center_x_m + half_length_m < 0.0 else None
