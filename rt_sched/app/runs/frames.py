"""Camera frames with their boxes drawn, for the report."""

from __future__ import annotations

from rt_sched.app.runs.watch import ReplayWatch
from rt_sched.errors import DataError
from rt_sched.report.run_data import AnnotatedFrame
from rt_sched.units import NS_PER_S


def annotated_frames(watch: ReplayWatch) -> list[AnnotatedFrame]:
    """The frames that the watch kept and that have a detection result, by camera and time."""
    from rt_sched.report.annotate import annotate
    from sensors.pixels import decode_bgr

    frames: list[AnnotatedFrame] = []
    for (camera, capture_ns), image in watch.images.items():
        detections = watch.detections.get((camera, capture_ns))
        if detections is None:
            continue
        try:
            bgr = decode_bgr(image).bgr
        except DataError:
            continue
        count = len(detections.scores)
        caption = f"{camera}, {capture_ns / NS_PER_S:.3f} s, {count} object{'' if count == 1 else 's'}"
        height, width = bgr.shape[:2]
        frames.append(AnnotatedFrame(camera, capture_ns, annotate(bgr, detections, caption), width, height, caption))
    return frames
