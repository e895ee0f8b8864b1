"""Tracking in one camera's image: the same object keeps its number from frame to frame."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipelines.association import assigned_pairs, iou_matrix
from pipelines.image_filter import BoxFilter
from pipelines.parameters import checked_integer, checked_number
from rt_sched.messages import Detections2D, ImageTracks
from rt_sched.ports import JobContext, StageBase, StageContext
from rt_sched.units import NS_PER_MS, NS_PER_S

#: Classes that detectors mistake for each other: a box may continue a track of any class of its group.
_GROUPS = ({"car", "truck", "bus", "train"}, {"person", "bicycle", "motorcycle"})

#: Boxes are compared after they have grown by this share of their size on each side: small ones that move by their own
#: width from frame to frame still meet (Yang et al. 2023: Hard to Track Objects with Irregular Motions, section 3.1).
_BUFFER = 0.25


@dataclass(slots=True)
class _Track:
    """`number`: 0 until it is confirmed. `votes`: summed scores by class."""

    group: str
    first_ns: int
    seen_ns: int
    hits: int = 1
    number: int = 0
    votes: dict[str, float] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return min(self.votes, key=lambda name: (-self.votes[name], name))


class Track(StageBase):
    """Detections of one camera -> the same with `tracks`. Input and output `detections`: Detections2D.

    Boxes are predicted by a Kalman filter and paired with detections by overlap, sure detections first, then the rest
    with the tracks that are left (Zhang et al. 2022: ByteTrack, section 3). Detections pass unchanged and are never
    made up: a track that is not seen has no entry until it is seen again or given up.

    A frame with the stamp of the one before gets numbers, but changes no track. Stamps that go back start a new epoch:
    all tracks end.

    Parameters:
        min_iou: least overlap (intersection over union) of a predicted box and a detection, both enlarged.
        birth_score: least score of a detection that begins a track.
        confirm_hits: frames with the object after which its track gets a number.
        max_coast_ms: time after which a track that is not seen is given up.

    Raises ValueError for parameters out of range.
    """

    inputs: ClassVar[Mapping[str, type]] = {"detections": Detections2D}
    outputs: ClassVar[Mapping[str, type]] = {"detections": Detections2D}
    stateful: ClassVar[bool] = True

    def __init__(
        self,
        *,
        min_iou: float = 0.15,
        birth_score: float = 0.45,
        confirm_hits: int = 2,
        max_coast_ms: float = 400.0,
    ) -> None:
        self._min_iou = checked_number("min_iou", min_iou, low=0.01, high=0.99)
        self._birth_score = checked_number("birth_score", birth_score, low=0.0, high=1.0)
        self._confirm_hits = checked_integer("confirm_hits", confirm_hits, low=1, high=100)
        coast = checked_number("max_coast_ms", max_coast_ms, low=0.0, high=60_000.0, unit="ms")
        self._coast_ns = math.floor(coast * NS_PER_MS)
        self._now_ns: int | None = None
        self._reset()

    def start(self, context: StageContext) -> None:
        """Forgets an earlier run."""
        self._reset()

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        detections: Detections2D = inputs["detections"]
        now_ns = detections.capture_time_ns
        ended: list[int] = []
        if self._now_ns is not None and now_ns < self._now_ns:
            ended = self._drop([True] * len(self._tracks))
        elif self._now_ns is not None:
            self._boxes.predict((now_ns - self._now_ns) / NS_PER_S)
        repeated = self._now_ns == now_ns
        self._now_ns = now_ns
        boxes = detections.boxes_px.astype(np.float64)
        pairs = self._pairs(detections, boxes)
        born: list[int] = []
        if not repeated:
            born = self._take(detections, boxes, pairs)
            ended += self._drop([now_ns - track.seen_ns > self._coast_ns for track in self._tracks])
        tracks = self._published(detections, pairs, born, ended)
        return {"detections": dataclasses.replace(detections, tracks=tracks)}

    def _reset(self) -> None:
        self._boxes = BoxFilter()
        self._tracks: list[_Track] = []
        self._now_ns = None
        self._last_number = 0

    def _pairs(self, detections: Detections2D, boxes: npt.NDArray[np.float64]) -> dict[int, _Track]:
        """Detection -> its track."""
        groups = [_group(name) for name in detections.class_names]
        cost = 1.0 - iou_matrix(_enlarged(self._boxes.boxes()), _enlarged(boxes))
        for row, track in enumerate(self._tracks):
            cost[row, [group != track.group for group in groups]] = np.inf
        sure = detections.scores >= self._birth_score
        limit = 1.0 - self._min_iou
        found = assigned_pairs(np.where(sure[None, :], cost, np.inf), limit)
        cost[[row for row, _ in found]] = np.inf
        found += assigned_pairs(np.where(sure[None, :], np.inf, cost), limit)
        return {column: self._tracks[row] for row, column in sorted(found)}

    def _take(self, detections: Detections2D, boxes: npt.NDArray[np.float64], pairs: dict[int, _Track]) -> list[int]:
        """Corrects the paired tracks, begins new ones; the numbers of those confirmed now. Extends `pairs`."""
        now_ns = detections.capture_time_ns
        rows = {id(track): row for row, track in enumerate(self._tracks)}
        columns = list(pairs)
        self._boxes.update(np.array([rows[id(pairs[c])] for c in columns], np.intp), boxes[columns])
        for track in pairs.values():
            track.hits += 1
            track.seen_ns = now_ns
        new = [c for c in range(len(boxes)) if c not in pairs and detections.scores[c] >= self._birth_score]
        self._boxes.add(boxes[new])
        for column in new:
            pairs[column] = _Track(_group(detections.class_names[column]), now_ns, now_ns)
            self._tracks.append(pairs[column])
        born = []
        for column in sorted(pairs):
            track = pairs[column]
            name = detections.class_names[column]
            track.votes[name] = track.votes.get(name, 0.0) + float(detections.scores[column])
            if track.number == 0 and track.hits >= self._confirm_hits:
                self._last_number += 1
                track.number = self._last_number
                born.append(track.number)
        return born

    def _drop(self, gone: list[bool]) -> list[int]:
        """Forgets the tracks of `gone`; their numbers."""
        ended = [track.number for track, is_gone in zip(self._tracks, gone, strict=True) if is_gone and track.number]
        self._boxes.keep(~np.array(gone, np.bool_))
        self._tracks = [track for track, is_gone in zip(self._tracks, gone, strict=True) if not is_gone]
        return sorted(ended)

    def _published(
        self, detections: Detections2D, pairs: dict[int, _Track], born: list[int], ended: list[int]
    ) -> ImageTracks:
        count = len(detections.scores)
        ids, ages = np.zeros(count, np.int64), np.zeros(count, np.int64)
        velocities, growth = np.zeros((count, 2), np.float32), np.zeros(count, np.float32)
        labels = list(detections.class_names)
        rows = {id(track): row for row, track in enumerate(self._tracks)}
        for column, track in pairs.items():
            if track.number == 0:
                continue
            rates = self._boxes.mean[rows[id(track)], :, 1]
            ids[column], ages[column] = track.number, detections.capture_time_ns - track.first_ns
            velocities[column], growth[column] = rates[:2], rates[2]
            labels[column] = track.label
        return ImageTracks(
            ids, ages, velocities, growth, tuple(labels), np.array(born, np.int64), np.array(ended, np.int64)
        )


def _group(name: str) -> str:
    return next((min(group) for group in _GROUPS if name in group), name)


def _enlarged(boxes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    margin = _BUFFER * (boxes[:, 2:] - boxes[:, :2])
    return np.concatenate((boxes[:, :2] - margin, boxes[:, 2:] + margin), axis=1)
