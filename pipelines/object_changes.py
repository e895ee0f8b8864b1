"""Tracked objects between devices: only what has changed travels.

Sender and receiver predict every object alike, by its last sent state. The sender sends an object again only when it is
farther from that prediction than a threshold (dead reckoning, as in IEEE 1278.1, distributed interactive simulation).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipelines.parameters import checked_integer, checked_number
from rt_sched.messages import ObjectChanges, TrackedObjects
from rt_sched.ports import JobContext, Rejected, StageBase, StageContext
from rt_sched.units import NS_PER_S

#: The arrays of TrackedObjects with one row per object; the last two may be missing.
_ARRAYS = ("track_ids", "positions_m", "velocities_m_s", "sizes_m", "scores", "accelerations_m_s2", "covariances")
_TUPLES = ("labels", "seen_by")


class Publish(StageBase):
    """Tracked objects -> what has changed of them. Input `objects`: TrackedObjects, output `changes`: ObjectChanges.

    An object travels when it is new, when its label changes, or when its place or velocity differs from what the last
    sent state predicts by more than `position_m` or `velocity_m_s`, or a side of it by more than `size_m`. Gone objects
    are named once. Every `full_every`-th message holds all objects: a receiver that joins late, or that missed one,
    is complete again after it. So does the first message after a receiver has begun anew elsewhere, and the first after
    time stepped back.
    Raises ValueError for a parameter out of range.
    """

    inputs: ClassVar[Mapping[str, type]] = {"objects": TrackedObjects}
    outputs: ClassVar[Mapping[str, type]] = {"changes": ObjectChanges}
    stateful: ClassVar[bool] = True

    def __init__(
        self,
        *,
        position_m: float = 0.2,
        velocity_m_s: float = 0.5,
        size_m: float = 0.3,
        full_every: int = 30,
    ) -> None:
        self._position_m = checked_number("position_m", position_m, low=0.0, high=100.0, unit="m")
        self._velocity_m_s = checked_number("velocity_m_s", velocity_m_s, low=0.0, high=100.0, unit="m/s")
        self._size_m = checked_number("size_m", size_m, low=0.0, high=100.0, unit="m")
        self._full_every = checked_integer("full_every", full_every, low=1, high=100_000)
        self._known: TrackedObjects | None = None
        self._sequence = 0
        self._new_readers = 0

    def start(self, context: StageContext) -> None:
        """Forgets what an earlier run sent."""
        self._known = None
        self._sequence = 0
        self._new_readers = 0

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        objects: TrackedObjects = inputs["objects"]
        known = self._known
        if known is not None and objects.capture_time_ns < known.capture_time_ns:
            known = None
        joined, self._new_readers = job.new_readers > self._new_readers, job.new_readers
        full = joined or known is None or self._sequence % self._full_every == 0
        self._sequence += 1
        before = np.zeros(0, np.int64) if known is None else known.track_ids
        if known is None or full:
            changed = objects
        else:
            known = _carried(known, objects.capture_time_ns)
            changed = _rows(objects, self._differs(known, objects))
        # What the receiver has now is what the next message is compared with.
        self._known = changed if known is None or full else _merged(known, changed, objects.track_ids)
        changes = ObjectChanges(
            capture_time_ns=objects.capture_time_ns,
            frame_id=objects.frame_id,
            sequence=self._sequence,
            full=full,
            changed=changed,
            created_ids=np.setdiff1d(objects.track_ids, before),
            removed_ids=np.setdiff1d(before, objects.track_ids),
        )
        return {"changes": changes}

    def _differs(self, known: TrackedObjects, objects: TrackedObjects) -> npt.NDArray[np.bool_]:
        """Which objects the receiver does not know well enough: bool[n]."""
        rows = {track_id: row for row, track_id in enumerate(known.track_ids.tolist())}
        differs = np.ones(len(objects.track_ids), np.bool_)
        for row, track_id in enumerate(objects.track_ids.tolist()):
            old = rows.get(track_id)
            if old is not None:
                place = objects.positions_m[row] - known.positions_m[old]
                speed = objects.velocities_m_s[row] - known.velocities_m_s[old]
                differs[row] = (
                    objects.labels[row] != known.labels[old]
                    or float(np.hypot(*place)) > self._position_m
                    or float(np.hypot(*speed)) > self._velocity_m_s
                    or float(np.abs(objects.sizes_m[row] - known.sizes_m[old]).max()) > self._size_m
                )
        return differs


class Follow(StageBase):
    """Changes of tracked objects -> all of them, on the device that receives the changes.

    Input `changes`: ObjectChanges, output `objects`: TrackedObjects at the changes' instant. Objects that did not
    travel are where their last state predicts; nothing was sent of who saw them in this cycle. Nothing is published
    (Rejected) before the first full message, and after a gap in the sequence until the next one: a picture with holes
    would look complete.
    """

    inputs: ClassVar[Mapping[str, type]] = {"changes": ObjectChanges}
    outputs: ClassVar[Mapping[str, type]] = {"objects": TrackedObjects}
    stateful: ClassVar[bool] = True

    def __init__(self) -> None:
        self._known: TrackedObjects | None = None
        self._sequence = 0

    def start(self, context: StageContext) -> None:
        """Forgets an earlier run."""
        self._known = None
        self._sequence = 0

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        changes: ObjectChanges = inputs["changes"]
        if changes.full:
            known = changes.changed
        elif self._known is None:
            raise Rejected("no full state of the objects has come yet")
        elif changes.sequence != self._sequence + 1:
            self._known = None
            raise Rejected(f"changes {self._sequence + 1} to {changes.sequence - 1} of the objects are missing")
        else:
            known = _carried(self._known, changes.capture_time_ns)
            ids = np.setdiff1d(np.union1d(known.track_ids, changes.changed.track_ids), changes.removed_ids)
            known = _merged(known, changes.changed, ids)
        self._known, self._sequence = known, changes.sequence
        return {"objects": known}


def _carried(objects: TrackedObjects, now_ns: int) -> TrackedObjects:
    """The objects moved on with their velocities, seen by nobody."""
    dt_s = (now_ns - objects.capture_time_ns) / NS_PER_S
    return dataclasses.replace(
        objects,
        capture_time_ns=now_ns,
        positions_m=objects.positions_m + objects.velocities_m_s * dt_s,
        seen_by=((),) * len(objects.track_ids),
    )


def _merged(known: TrackedObjects, changed: TrackedObjects, ids: npt.NDArray[np.int64]) -> TrackedObjects:
    """The objects `ids`, ascending: out of `changed` where it has them, else out of `known`."""
    new, old = _by_id(changed), _by_id(known)
    kept = [track_id for track_id in sorted(ids.tolist()) if track_id in new or track_id in old]
    columns: dict[str, Any] = {}
    for name in _ARRAYS:
        first, second = getattr(changed, name), getattr(known, name)
        if first is None or second is None:
            columns[name] = None
        else:
            rows = [first[new[i]] if i in new else second[old[i]] for i in kept]
            columns[name] = np.array(rows, first.dtype).reshape(len(kept), *first.shape[1:])
    for name in _TUPLES:
        first, second = getattr(changed, name), getattr(known, name)
        columns[name] = tuple(first[new[i]] if i in new else second[old[i]] for i in kept)
    return dataclasses.replace(changed, **columns)


def _rows(objects: TrackedObjects, mask: npt.NDArray[np.bool_]) -> TrackedObjects:
    """Only the objects of `mask`: bool[n]."""
    columns: dict[str, Any] = {}
    for name in _ARRAYS:
        array = getattr(objects, name)
        columns[name] = None if array is None else array[mask]
    for name in _TUPLES:
        columns[name] = tuple(value for value, kept in zip(getattr(objects, name), mask, strict=True) if kept)
    return dataclasses.replace(objects, **columns)


def _by_id(objects: TrackedObjects) -> dict[int, int]:
    return {track_id: row for row, track_id in enumerate(objects.track_ids.tolist())}
