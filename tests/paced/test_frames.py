"""The report of a paced run shows camera frames as the stages got them, and leaves out what cannot be decoded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rt_sched.app.faults.job import FaultsRequest, opened
from rt_sched.app.faults.prepared import Drive
from rt_sched.app.paced.frames import see_frames
from rt_sched.app.runs.watch import FRAMES_PER_CAMERA, ReplayWatch
from rt_sched.errors import DataError
from rt_sched.ports import RecordedMessage

from .conftest import ROOT, SYSTEM, Ended, Running


@pytest.fixture(scope="module")
def drive() -> Iterator[Drive]:
    script, log = ROOT / "unused.yaml", str(ROOT / "replay_data" / "hazard_short.mcap")
    with opened(FaultsRequest(str(SYSTEM), script, log)) as found:
        yield found


def seen(drive: Drive, recording: Any) -> ReplayWatch:
    watch = ReplayWatch(drive.system, drive.timeline.samples)
    see_frames(watch, recording, list(drive.mapping.sensor_to_topic.values()), drive.timeline)
    return watch


def test_every_chosen_frame_is_decoded_again(drive: Drive) -> None:
    watch = seen(drive, drive.recording)
    assert len(watch.chosen_samples) == FRAMES_PER_CAMERA == len(watch.images)
    for row in watch.chosen_samples:
        sensor = drive.system.sensors[int(drive.timeline.samples.sensor[row])].name
        captured_ns = int(drive.timeline.samples.capture_ns[row])
        assert watch.images[sensor, captured_ns].capture_time_ns == captured_ns + drive.timeline.origin_ns


def test_a_frame_that_cannot_be_decoded_is_left_out(drive: Drive) -> None:
    class Damaged:
        def __init__(self) -> None:
            self.tried = 0

        def messages(self, topics: list[str]) -> Iterator[RecordedMessage]:
            return drive.recording.messages(topics)

        def decode(self, message: RecordedMessage) -> Any:
            self.tried += 1
            if self.tried == 1:
                raise DataError("cut off")
            return drive.recording.decode(message)

    watch = seen(drive, Damaged())
    assert len(watch.images) == FRAMES_PER_CAMERA - 1
    assert watch.undecodable == {}


def test_a_run_shows_them(tmp_path, tiers) -> None:
    tier = next(name for name in ("fifo", "user") if tiers[name].available)
    ended: Ended = Running(tmp_path / "run", "--tier", tier, "--duration", "1.5s").end()
    assert "data:image/jpeg;base64" in (ended.folder / "report.html").read_text(encoding="utf-8")
