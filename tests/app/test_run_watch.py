"""What the watch counts: each frame of a camera once, also where its detections are followed by another task."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from rt_sched.app.runs.watch import ReplayWatch
from rt_sched.messages import Detections2D, ImageTracks
from rt_sched.runtime.stage_graph import FinishedJob, Outputs


def detections(tracks: ImageTracks | None = None) -> Detections2D:
    boxes = np.array([[0, 0, 9, 9]], np.float32)
    ones = np.ones(1, np.float32)
    return Detections2D(7, "f", "front", 90, 90, boxes, ones, np.array([3], np.int32), ("car",), tracks)


def test_followed_detections_are_not_counted_again() -> None:
    none = np.zeros(0, np.int64)
    one = np.ones(1, np.int64)
    tracks = ImageTracks(one, one, np.zeros((1, 2), np.float32), np.zeros(1, np.float32), ("car",), none, none)
    system: Any = SimpleNamespace(
        tasks=(SimpleNamespace(name="post"), SimpleNamespace(name="track")), sensors=(), safety=None
    )
    watch = ReplayWatch(system, SimpleNamespace())  # type: ignore[arg-type]
    context: Any = SimpleNamespace(number=0, finish_ns=9)
    watch.see_job(FinishedJob(0, 0, context, Outputs({"detections": detections()})), [])
    watch.see_job(FinishedJob(1, 1, context, Outputs({"detections": detections(tracks)})), [])
    assert watch.frames["front"] == 1
    assert watch.boxes["front"] == {"car": 1}
