"""Decoding ahead: the same pixels as without, whatever the order, the readers, the room and the threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.camera import Preprocess
from pipelines.lanes import LaneMarkings
from rt_sched.errors import DataError
from rt_sched.messages import EncodedImage, ImuSample
from rt_sched.ports import JobContext, RecordedMessage, Rejected, StageContext
from sensors.decode_ahead import DecodeAhead, FrameStore, StoredImage, frame_pixels
from sensors.pixels import decode_bgr

JOB = JobContext(task="front", number=0, arrival_ns=0, start_ns=0, finish_ns=0, deadline_ns=0)


def frame(number: int, size: tuple[int, int] = (96, 160), kind: str = ".jpg") -> EncodedImage:
    rng = np.random.default_rng(number)
    smooth = cv2.resize(rng.integers(0, 256, (6, 8, 3), np.uint8), size[::-1], interpolation=cv2.INTER_LINEAR)
    data = cv2.imencode(kind, smooth)[1].tobytes()
    return EncodedImage(number, "front_optical", "jpeg" if kind == ".jpg" else "png", data)


def message(payload: Any, topic: str = "/front") -> RecordedMessage:
    return RecordedMessage(topic, 0, 0, 0, payload)


def full(height: int, width: int) -> tuple[int, int]:
    return height, width


def quarter(height: int, width: int) -> tuple[int, int]:
    return height // 4, width // 4


def payload_of(recorded: RecordedMessage) -> Any:
    return recorded.payload


def test_every_reader_finds_its_pixels_ready_once() -> None:
    ahead = DecodeAhead(payload_of, {"/front": [full, quarter, quarter]})
    image = ahead(message(frame(1)))
    assert isinstance(image, StoredImage)
    assert ahead.store.decoded == 2, "two reductions, three readers"
    for needed in (quarter, full, quarter):
        pixels = frame_pixels(image, needed)
        np.testing.assert_array_equal(pixels.bgr, decode_bgr(frame(1), at_least=needed(96, 160)).bgr)
        assert not pixels.bgr.flags.writeable
        assert (pixels.recorded_height, pixels.recorded_width) == (96, 160)
    assert ahead.store.taken == 3
    assert ahead.store.held_bytes == 0
    np.testing.assert_array_equal(frame_pixels(image, full).bgr, decode_bgr(frame(1)).bgr)
    assert ahead.store.taken == 3, "the fourth reader decodes for itself"


@settings(max_examples=40, deadline=None)
@given(
    order=st.permutations(range(6)),
    room=st.sampled_from([0, 1, 50_000, 100_000, 10_000_000]),
    kinds=st.lists(st.sampled_from([".jpg", ".png"]), min_size=6, max_size=6),
)
def test_pixels_depend_on_neither_room_nor_order(order: list[int], room: int, kinds: list[str]) -> None:
    frames = [frame(number, kind=kind) for number, kind in enumerate(kinds)]
    ahead = DecodeAhead(payload_of, {"/front": [full]}, FrameStore(room))
    images = [ahead(message(image)) for image in frames]
    assert ahead.store.held_bytes <= room
    for number in order:
        np.testing.assert_array_equal(frame_pixels(images[number], full).bgr, decode_bgr(frames[number]).bgr)


def test_frames_that_nobody_takes_make_room() -> None:
    """A job that is aborted after its start never comes for its frame."""
    store = FrameStore(4 * 96 * 160 * 3)
    ahead = DecodeAhead(payload_of, {"/front": [full]}, store)
    images = [ahead(message(frame(number))) for number in range(20)]
    assert store.held_bytes <= 4 * 96 * 160 * 3
    for image in images[-4:]:
        frame_pixels(image, full)
    assert store.taken == 4
    assert store.held_bytes == 0


def test_many_threads_get_what_one_gets() -> None:
    frames = [frame(number) for number in range(40)]
    alone = [decode_bgr(image, at_least=quarter(96, 160)).bgr for image in frames]
    ahead = DecodeAhead(payload_of, {"/front": [quarter, quarter]}, FrameStore(20_000))
    with ThreadPoolExecutor(6) as pool:
        images = list(pool.map(lambda image: ahead(message(image)), frames))
        for _ in range(2):
            for one, other in zip(alone, pool.map(lambda i: frame_pixels(i, quarter).bgr, images), strict=True):
                np.testing.assert_array_equal(one, other)
    assert ahead.store.held_bytes <= 20_000


@pytest.mark.parametrize("data", [b"", b"\xff\xd8\xff\xe0 not a picture", frame(1).data[:200], b"\xff\xd8\xff\xd9"])
def test_a_broken_frame_is_refused_by_its_reader_with_the_same_reason(data: bytes) -> None:
    broken = EncodedImage(7, "front_optical", "jpeg", data)
    stage = Preprocess()
    stage.start(StageContext("front", Path()))
    handed = DecodeAhead(payload_of, {"/front": [stage.pixels_needed]})(message(broken))
    reasons = []
    for image in (broken, handed):
        try:
            stage.preprocess(JOB, {"image": image})
            reasons.append("")
        except Rejected as error:
            reasons.append(str(error))
    assert reasons[0] == reasons[1]


def test_what_is_no_frame_or_has_no_reader_passes_untouched() -> None:
    imu = ImuSample(1, "imu", np.zeros(3), np.zeros(3))
    ahead = DecodeAhead(payload_of, {"/front": [full], "/none": []})
    for recorded in (message(imu), message(frame(1), "/other"), message(frame(1), "/none")):
        assert ahead(recorded) is recorded.payload
    assert ahead.store.decoded == 0


def test_what_cannot_be_read_at_all_is_told_at_once() -> None:
    def refuse(_: RecordedMessage) -> Any:
        raise DataError("chunk is damaged")

    with pytest.raises(DataError, match="chunk is damaged"):
        DecodeAhead(refuse, {"/front": [full]})(message(None))


@pytest.mark.parametrize("parameters", [{}, {"input_width": 640, "input_height": 360, "resize": "letterbox"}])
def test_stages_compute_the_same_from_frames_decoded_ahead(parameters: dict[str, Any]) -> None:
    stage = Preprocess(**parameters)
    stage.start(StageContext("front", Path()))
    plain = frame(3, size=(720, 1280))
    ahead = DecodeAhead(payload_of, {"/front": [stage.pixels_needed]})
    tensors = [
        stage.process(JOB, stage.preprocess(JOB, {"image": image}))["tensor"].arrays[0]
        for image in (plain, ahead(message(plain)))
    ]
    assert ahead.store.taken == 1
    np.testing.assert_array_equal(*tensors)


def test_stages_say_what_they_need() -> None:
    stage = Preprocess(input_width=416, input_height=416, resize="letterbox")
    stage.start(StageContext("front", Path()))
    assert stage.pixels_needed(1080, 1920) == (234, 416)
    stage = Preprocess()
    stage.start(StageContext("front", Path()))
    assert stage.pixels_needed(1080, 1920) == (300, 300)
    assert LaneMarkings().pixels_needed(1080, 1920) == (1, 640)


def test_replay_decodes_for_every_stage_that_says_so() -> None:
    from rt_sched.app.inputs.log_inputs import pixels_needed

    port = SimpleNamespace
    tasks = [
        SimpleNamespace(inputs=[port(source="front")]),
        SimpleNamespace(inputs=[port(source="front"), port(source="imu")]),
        SimpleNamespace(inputs=[port(source="pre")]),
        SimpleNamespace(inputs=[port(source="rear")]),
    ]
    reader = SimpleNamespace(pixels_needed=full)
    stages = [reader, reader, reader, SimpleNamespace()]
    mapping: Any = SimpleNamespace(sensor_to_topic={"front": "/front", "imu": "/imu", "rear": "/rear"})
    needs = pixels_needed(SimpleNamespace(tasks=tasks), stages, mapping)  # type: ignore[arg-type]
    assert needs["/front"] == [full, full]
    assert "/rear" not in needs
