"""What travels of tracked objects: little, enough, and complete again after a loss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.object_changes import Follow, Publish
from rt_sched.messages import ObjectChanges, SensorView, TrackedObjects, canonical_digest
from rt_sched.ports import JobContext, Rejected, StageContext

MS = 1_000_000


def scene(now_ns: int, rows: dict[int, tuple[float, float, float]], label: str = "car") -> TrackedObjects:
    """Identifier -> x, y, speed along x."""
    ids = sorted(rows)
    n = len(ids)
    return TrackedObjects(
        capture_time_ns=now_ns,
        frame_id="vehicle",
        track_ids=np.array(ids, np.int64),
        positions_m=np.array([rows[i][:2] for i in ids], np.float64).reshape(n, 2),
        velocities_m_s=np.array([[rows[i][2], 0.0] for i in ids], np.float64).reshape(n, 2),
        sizes_m=np.tile([4.5, 1.8, 1.5], (n, 1)).reshape(n, 3),
        labels=(label,) * n,
        scores=np.ones(n),
        seen_by=(("front",),) * n,
        views=(SensorView("front", now_ns),),
        accelerations_m_s2=np.zeros((n, 2)),
        covariances=np.tile(np.eye(6), (n, 1, 1)).reshape(n, 6, 6),
    )


def job(now_ns: int) -> JobContext:
    return JobContext("changes", 0, now_ns, now_ns, now_ns, now_ns)


def publish(stage: Publish, objects: TrackedObjects) -> ObjectChanges:
    changes = stage.process(job(objects.capture_time_ns), {"objects": objects})["changes"]
    assert isinstance(changes, ObjectChanges)
    return changes


def follow(stage: Follow, changes: ObjectChanges) -> TrackedObjects:
    objects = stage.process(job(changes.capture_time_ns), {"changes": changes})["objects"]
    assert isinstance(objects, TrackedObjects)
    return objects


def test_only_what_is_new_or_moves_otherwise_travels() -> None:
    stage = Publish()
    first = publish(stage, scene(0, {1: (10, 0, 2.0), 2: (20, 0, 0.0)}))
    assert (first.full, first.sequence, first.created_ids.tolist()) == (True, 1, [1, 2])
    # Number 1 moves on as it said; number 2 stays where it was.
    second = publish(stage, scene(100 * MS, {1: (10.2, 0, 2.0), 2: (20, 0, 0.0)}))
    assert (second.full, second.changed.track_ids.tolist(), second.changed.labels) == (False, [], ())
    # 0.21 m off, a speed 0.6 m/s off, a new one, and one that is gone.
    third = publish(stage, scene(200 * MS, {1: (10.61, 0, 2.0), 3: (5, 5, 0.0)}))
    assert third.changed.track_ids.tolist() == [1, 3]
    assert (third.created_ids.tolist(), third.removed_ids.tolist()) == ([3], [2])
    fourth = publish(stage, scene(300 * MS, {1: (10.81, 0, 2.6), 3: (5, 5, 0.0)}))
    assert (fourth.changed.track_ids.tolist(), fourth.removed_ids.tolist()) == ([1], [])
    # Drift below the threshold adds up until it is above it.
    fifth = publish(stage, scene(400 * MS, {1: (11.07, 0, 2.6), 3: (5.15, 5, 0.0)}))
    sixth = publish(stage, scene(500 * MS, {1: (11.33, 0, 2.6), 3: (5.3, 5, 0.0)}))
    assert (fifth.changed.track_ids.tolist(), sixth.changed.track_ids.tolist()) == ([], [3])
    # A new name travels too.
    assert publish(stage, scene(600 * MS, {3: (5.3, 5, 0.0)}, "bus")).changed.track_ids.tolist() == [3]


@given(
    st.lists(
        st.dictionaries(
            st.integers(1, 5), st.tuples(st.floats(-50, 50), st.floats(-9, 9), st.floats(-20, 20)), max_size=5
        ),
        min_size=1,
        max_size=12,
    )
)
@settings(max_examples=100, deadline=None)
def test_the_receiver_knows_every_object_to_the_threshold(cycles: list[dict[int, tuple[float, float, float]]]) -> None:
    sender, receiver = Publish(full_every=1000), Follow()
    for k, rows in enumerate(cycles):
        truth = scene(k * 33 * MS, rows)
        known = follow(receiver, publish(sender, truth))
        assert known.track_ids.tolist() == truth.track_ids.tolist()
        assert known.capture_time_ns == truth.capture_time_ns
        assert known.views == truth.views
        off = np.linalg.norm(known.positions_m - truth.positions_m, axis=1)
        assert (off <= 0.2 + 1e-9).all()
        assert (np.linalg.norm(known.velocities_m_s - truth.velocities_m_s, axis=1) <= 0.5 + 1e-9).all()


def test_a_late_joiner_and_one_that_missed_something_wait_for_a_full_message() -> None:
    sender, late, lossy = Publish(full_every=5), Follow(), Follow()
    messages = [publish(sender, scene(k * 33 * MS, {1: (10 + k, 0, 0.0)})) for k in range(11)]
    assert [message.full for message in messages] == [k % 5 == 0 for k in range(11)]
    for message in messages[2:5]:
        with pytest.raises(Rejected, match="no full state"):
            follow(late, message)
    assert follow(late, messages[5]).positions_m[0, 0] == 15.0
    follow(lossy, messages[0])
    follow(lossy, messages[1])
    with pytest.raises(Rejected, match="changes 3 to 3 of the objects are missing"):
        follow(lossy, messages[3])
    with pytest.raises(Rejected, match="no full state"):
        follow(lossy, messages[4])
    assert [follow(lossy, m).positions_m[0, 0] for m in messages[5:]] == [15, 16, 17, 18, 19, 20]


@given(st.lists(st.booleans(), min_size=1, max_size=12))
@settings(max_examples=30, deadline=None)
def test_a_receiver_that_begins_anew_is_complete_with_the_next_message(anew: list[bool]) -> None:
    sender, receiver = Publish(full_every=1000), Follow()
    for k, begins in enumerate(anew):
        receiver = Follow() if begins else receiver
        truth = scene(k * 33 * MS, {1: (10.0 + k % 2, 0, 0.0), 2: (20.0, 0, 0.0)})
        told = replace(job(truth.capture_time_ns), new_readers=sum(anew[: k + 1]))
        changes = sender.process(told, {"objects": truth})["changes"]
        assert changes.full == (k == 0 or begins)
        assert follow(receiver, changes).track_ids.tolist() == [1, 2]


def test_steady_traffic_needs_a_small_part_of_the_full_state() -> None:
    # Twenty objects at constant speed, one of them braking with 6 m/s^2: its speed is 0.5 m/s off every 83 ms.
    sender, sent = Publish(full_every=1000), 0
    for k in range(30):
        t = k / 30
        rows = {i: (10.0 * i - 5.0 * t, 0.0, -5.0) for i in range(2, 21)}
        sent += len(
            publish(sender, scene(k * 33_333_333, rows | {1: (30.0 - 3.0 * t * t, 4.0, -6.0 * t)})).changed.labels
        )
    assert sent <= 20 + 12


def test_time_that_steps_back_begins_with_a_full_message() -> None:
    sender = Publish()
    publish(sender, scene(500 * MS, {1: (10, 0, 0.0)}))
    again = publish(sender, scene(0, {1: (10, 0, 0.0)}))
    assert (again.full, again.sequence, again.created_ids.tolist()) == (True, 2, [1])


def test_producers_without_covariances_are_followed_too() -> None:
    bare = replace(scene(0, {1: (10, 0, 0.0)}), covariances=None, accelerations_m_s2=None)
    sender, receiver = Publish(), Follow()
    sender.start(StageContext("t", Path()))
    receiver.start(StageContext("t", Path()))
    follow(receiver, publish(sender, bare))
    moved = replace(bare, capture_time_ns=33 * MS, positions_m=bare.positions_m + 1.0)
    known = follow(receiver, publish(sender, moved))
    assert (known.covariances, known.positions_m.tolist()) == (None, [[11.0, 1.0]])
    assert len(canonical_digest(known)) == 32


def test_parameters_are_checked() -> None:
    with pytest.raises(ValueError, match="full_every: 0 is out of range"):
        Publish(full_every=0)
