"""Camera frames for the report of a paced run: they passed by in other processes, and are decoded once more."""

from __future__ import annotations

from rt_sched.app.runs.watch import ReplayWatch
from rt_sched.errors import DataError
from rt_sched.ports import Recording
from rt_sched.runtime.stage_graph import Outputs
from rt_sched.runtime.timeline import Timeline


def see_frames(watch: ReplayWatch, recording: Recording, topics: list[str], timeline: Timeline) -> None:
    """Hands the watch the frames that it chose. Those that cannot be decoded are left out.

    `recording`: as the stages got it, with its faults; `topics`: of its sensors. `timeline`: of that recording.
    """
    rows = {int(timeline.file_index[row]): row for row in watch.chosen_samples}
    for message in recording.messages(topics):
        row = rows.pop(message.index, None)
        if row is not None:
            try:
                watch.see_sample(row, Outputs({None: recording.decode(message)}))
            except DataError:
                continue
        if not rows:
            return
