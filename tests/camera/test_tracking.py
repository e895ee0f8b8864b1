"""Tracks in one camera: numbers stay with their objects, through misses, crossings, wrong classes and odd stamps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.camera_tracking import Track
from pipelines.image_filter import BoxFilter
from rt_sched.messages import Detections2D, canonical_digest
from rt_sched.ports import JobContext, Stage, StageContext

JOB = JobContext(task="track", number=0, arrival_ns=0, start_ns=0, finish_ns=0, deadline_ns=0)
FRAME_NS = 33_333_333

Item = tuple[Sequence[float], str, float]


def detections(number: int, items: Sequence[Item], frame_ns: int = FRAME_NS) -> Detections2D:
    """`items`: (x_min, y_min, x_max, y_max), class, score."""
    names = tuple(name for _, name, _ in items)
    return Detections2D(
        number * frame_ns,
        "front_optical",
        "front",
        720,
        1280,
        np.array([box for box, _, _ in items], np.float32).reshape(-1, 4),
        np.array([score for _, _, score in items], np.float32),
        np.zeros(len(items), np.int32),
        names,
    )


def around(x: float, y: float, height: float = 60.0, width: float = 90.0) -> tuple[float, float, float, float]:
    return (x - width / 2, y - height / 2, x + width / 2, y + height / 2)


class Tracker:
    def __init__(self, **parameters: object) -> None:
        self.stage = Track(**parameters)
        self.stage.start(StageContext("track", Path()))

    def __call__(self, frame: Detections2D) -> Detections2D:
        return self.stage.process(JOB, {"detections": frame})["detections"]


def test_is_a_stage_that_passes_boxes_unchanged() -> None:
    assert isinstance(Track(), Stage)
    assert Track.stateful
    frame = detections(0, [(around(100, 100), "car", 0.9)])
    found = Tracker()(frame)
    assert found.boxes_px is frame.boxes_px
    assert found.tracks is not None
    assert frame.tracks is None


def test_a_number_comes_with_the_confirmation_and_ends_after_the_coast() -> None:
    track = Tracker(confirm_hits=3, max_coast_ms=100.0)
    ids, born, ended = [], [], []
    for number in range(12):
        items = [(around(100 + 2 * number, 100), "car", 0.9)] if number < 5 else []
        tracks = track(detections(number, items)).tracks
        ids.append(tracks.ids.tolist())
        born.append(tracks.born_ids.tolist())
        ended.append(tracks.ended_ids.tolist())
    assert ids == [[0], [0], [1], [1], [1]] + [[]] * 7
    assert born == [[], [], [1]] + [[]] * 9
    # Seen last in frame 4; 100 ms are over with frame 8.
    assert ended == [[]] * 8 + [[1]] + [[]] * 3


@pytest.mark.parametrize("frame_ns", [FRAME_NS, 100_000_000])
def test_objects_keep_their_numbers_while_they_pass_each_other(frame_ns: int) -> None:
    """Two cars at different speeds and sizes cross in the image; one is hidden for two frames meanwhile."""
    track = Tracker()
    seen: dict[str, set[int]] = {"near": set(), "far": set()}
    step_s = frame_ns / 1e9
    for number in range(40):
        near = around(100 + 400 * step_s * number, 400, 120, 180)
        far = around(500 - 200 * step_s * number, 380, 40, 60)
        items = [("near", near)] + ([("far", far)] if abs(near[0] + 90 - far[0] - 30) > 60 else [])
        found = track(detections(number, [(box, "car", 0.8) for _, box in items], frame_ns))
        for (name, _), number_ in zip(items, found.tracks.ids.tolist(), strict=True):
            seen[name].add(number_)
    assert seen["near"] - {0} == {1}
    assert seen["far"] - {0} == {2}


def test_a_lone_wrong_class_changes_neither_number_nor_label() -> None:
    track = Tracker()
    names = ["car", "car", "truck", "car", "person", "car"]
    results = [track(detections(i, [(around(200, 200), name, 0.7)])).tracks for i, name in enumerate(names)]
    assert [r.ids.tolist() for r in results] == [[0], [1], [1], [1], [0], [1]]
    assert results[2].labels == ("car",)
    assert results[4].labels == ("person",)


def test_a_weak_detection_continues_a_track_but_begins_none() -> None:
    track = Tracker(birth_score=0.5)
    for number in range(4):
        items = [(around(200, 200), "car", 0.9 if number < 2 else 0.3), (around(600, 200), "car", 0.4)]
        ids = track(detections(number, items)).tracks.ids.tolist()
    assert ids == [1, 0]


def test_growth_tells_the_time_to_contact() -> None:
    """A box of an object that comes nearer at constant speed: growth is the inverse of the time that is left."""
    track = Tracker()
    for number in range(60):
        left_s = 4.0 - number / 30.0
        found = track(detections(number, [(around(300, 300, 240 / left_s, 360 / left_s), "car", 0.9)]))
    assert 1.0 / found.tracks.growth_per_s[0] == pytest.approx(left_s, rel=0.15)
    assert found.tracks.ages_ns[0] == 59 * FRAME_NS


def test_a_repeated_stamp_changes_no_track_and_one_that_steps_back_begins_anew() -> None:
    track = Tracker()
    track(detections(5, [(around(200, 200), "car", 0.9)]))
    for _ in range(5):
        assert track(detections(5, [(around(200, 200), "car", 0.9)])).tracks.ids.tolist() == [0]
    assert track(detections(6, [(around(200, 200), "car", 0.9)])).tracks.ids.tolist() == [1]
    back = track(detections(2, [(around(200, 200), "car", 0.9)])).tracks
    assert back.ids.tolist() == [0]
    assert back.ended_ids.tolist() == [1]
    assert track(detections(3, [(around(200, 200), "car", 0.9)])).tracks.ids.tolist() == [2]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12), st.booleans()), max_size=6), max_size=12))
def test_numbers_are_unique_and_accounted_for(frames: list[list[tuple[int, int, bool]]]) -> None:
    """Whatever comes: no number twice in a frame, none used again after its end, each confirmed once; and two equal
    runs publish the same bytes."""
    first, second = Tracker(max_coast_ms=50.0), Tracker(max_coast_ms=50.0)
    alive: set[int] = set()
    used: set[int] = set()
    for number, items in enumerate(frames):
        frame = detections(
            number, [(around(20 * x, 20 * y), "car" if car else "person", 0.3 + 0.05 * x % 0.7) for x, y, car in items]
        )
        found = first(frame)
        assert canonical_digest(found) == canonical_digest(second(frame))
        tracks = found.tracks
        ids = [i for i in tracks.ids.tolist() if i]
        born, ended = set(tracks.born_ids.tolist()), set(tracks.ended_ids.tolist())
        assert len(ids) == len(set(ids))
        assert not born & used
        alive |= born
        used |= born
        assert set(ids) <= alive
        assert ended <= alive
        assert not ended & set(ids)
        alive -= ended


def test_filter_follows_a_moving_box_better_than_its_detections() -> None:
    rng = np.random.default_rng(4)
    boxes = BoxFilter()
    errors, raw = [], []
    for number in range(90):
        true = np.array(around(100 + 6.0 * number, 200, 60, 90))
        seen = true + rng.normal(0, 2.5, 4)
        if number == 0:
            boxes.add(seen[None])
            continue
        boxes.predict(1 / 30)
        boxes.update(np.array([0]), seen[None])
        if number > 20:
            errors.append(boxes.boxes()[0] - true)
            raw.append(seen - true)
    assert np.std(errors) < 0.9 * np.std(raw)
    assert np.linalg.eigvalsh(boxes.covariance).min() > 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"min_iou": 0.0}, "min_iou: 0.0 is out of range"),
        ({"birth_score": 2}, "birth_score: 2 is out of range"),
        ({"confirm_hits": 0}, "confirm_hits: 0 is out of range"),
        ({"max_coast_ms": -1.0}, "max_coast_ms: -1.0 is out of range"),
    ],
)
def test_wrong_parameters_are_explained(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Track(**parameters)
