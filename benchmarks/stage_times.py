"""Time of each perception stage on this machine, and how it grows with points, objects and pixels.

    python benchmarks/stage_times.py [--repeat N] [--only WORD ...] [--plots FOLDER] [--json]

Stages run through their public interface (`start`, `preprocess`, `process`), as in a replay but alone. A figure is the
median of N jobs in CPU time of the process, all its threads together. LiDAR sweeps are rendered from the shipped scene
at 128 lines x 1024 columns and thinned by columns. `--plots` writes one SVG per group; the pictures of the docs are
made by

    python benchmarks/stage_times.py --plots docs/plots
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks" / "evidence"), str(ROOT / "benchmarks" / "stages")]

import inputs  # noqa: E402
from machine import describe_run  # noqa: E402
from plot import Series, line_plot  # noqa: E402

from rt_sched.ports import JobContext, Stage  # noqa: E402
from rt_sched.units import NS_PER_MS  # noqa: E402

SCHEMA = "rt-sched/stage-times/1"
#: What the LiDAR stages together may take for 128 lines x 1024 columns on one core.
LIDAR_BUDGET_MS = 25.0
GROUPS = {
    "lidar": "LiDAR stages against points of a sweep",
    "camera": "Camera stages against megapixels of a frame",
    "objects": "Stages behind the sensors against objects",
    "imu": "Inertial navigation against intervals in its history",
}


@dataclass(frozen=True)
class Figure:
    """`size`: points, megapixels, objects or intervals, by group; `cpu_ms`: median over `jobs`."""

    group: str
    stage: str
    size: float
    cpu_ms: float
    jobs: int


def timed(
    group: str,
    stage_name: str,
    size: float,
    stage: Stage,
    jobs: Iterable[tuple[JobContext, Mapping[str, Any]]],
    *,
    ahead: bool = False,
) -> tuple[Figure, Mapping[str, Any]]:
    """Runs all jobs, the first of which only warms up; returns the figure and the last outputs.

    `ahead`: the figure is that of the work that may run before the job instead of the job's own.
    """
    spent_ns = []
    outputs: Mapping[str, Any] = {}
    for job, given in jobs:
        start_ns = time.process_time_ns()
        ready = stage.preprocess(job, given)
        ready_ns = time.process_time_ns()
        outputs = stage.process(job, ready)
        done_ns = time.process_time_ns()
        spent_ns.append(ready_ns - start_ns if ahead else done_ns - ready_ns)
        stage.postprocess(job, outputs)
    median_ms = statistics.median(spent_ns[1:]) / NS_PER_MS
    return Figure(group, stage_name, size, round(median_ms, 4), len(spent_ns) - 1), outputs


def lidar(repeat: int) -> Iterable[Figure]:
    """Preprocessing with and without deskew, and clustering."""
    for share in (0.0625, 0.125, 0.25, 0.5, 1.0):
        cloud, ego = inputs.sweep(share)
        points = float(len(cloud.xyz_m))
        preprocess, cluster = inputs.lidar_stages()
        for name, given in (
            ("preprocess", {"points": cloud}),
            ("preprocess with deskew", {"points": cloud, "ego": ego}),
        ):
            figure, ahead = timed("lidar", name, points, preprocess, inputs.same(given, repeat))
            yield figure
        figure, _ = timed("lidar", "cluster", points, cluster, inputs.same(ahead, repeat))
        yield figure


def camera(repeat: int) -> Iterable[Figure]:
    """Decoding ahead of the job, preprocessing, and the network with its postprocessing, whose input does not grow."""
    for height, width in ((180, 320), (360, 640), (720, 1280), (1080, 1920)):
        frame, megapixels = inputs.frame(height, width), height * width / 1e6
        preprocess, infer, postprocess = inputs.camera_stages()
        figure, _ = timed(
            "camera", "decode ahead", megapixels, preprocess, inputs.same({"image": frame}, repeat), ahead=True
        )
        yield figure
        figure, tensor = timed("camera", "preprocess", megapixels, preprocess, inputs.same({"image": frame}, repeat))
        yield figure
        figure, raw = timed("camera", "infer", megapixels, infer, inputs.same(tensor, repeat))
        yield figure
        figure, _ = timed("camera", "postprocess", megapixels, postprocess, inputs.same(raw, repeat))
        yield figure


def objects(repeat: int) -> Iterable[Figure]:
    """Fusion of boxes and detections into tracks, and what decides on them."""
    for count in (5, 10, 20, 40, 80):
        stage = inputs.fusion_stage()
        figure, fused = timed("objects", "fuse", count, stage, inputs.traffic(count, repeat))
        yield figure
        for name, decide in inputs.deciding_stages():
            figure, _ = timed("objects", name, count, decide, inputs.deciding_jobs(fused, repeat))
            yield figure


def imu(repeat: int) -> Iterable[Figure]:
    """One sample; the history is the only thing that grows."""
    for history_ms in (100, 300, 1000):
        stage = inputs.imu_stage(history_ms)
        figure, _ = timed("imu", "integrate", history_ms / 5, stage, inputs.drive(40 * repeat))
        yield figure


MEASURES: dict[str, Callable[[int], Iterable[Figure]]] = {
    "lidar": lidar,
    "camera": camera,
    "objects": objects,
    "imu": imu,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=15, help="jobs per figure")
    parser.add_argument("--only", nargs="*", choices=list(MEASURES), default=list(MEASURES), help="groups to measure")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="write one SVG per group there")
    parser.add_argument("--json", action="store_true", help="print the results as JSON instead of tables")
    arguments = parser.parse_args()
    figures: list[Figure] = []
    for group in arguments.only:
        print(f"{GROUPS[group]} ...", file=sys.stderr, flush=True)
        figures += MEASURES[group](arguments.repeat)
    if arguments.plots:
        arguments.plots.mkdir(parents=True, exist_ok=True)
        for group in arguments.only:
            path = arguments.plots / f"stage-times-{group}.svg"
            path.write_text(_plot(group, [f for f in figures if f.group == group]), encoding="utf-8")
            print(f"wrote {path}", file=sys.stderr)
    if arguments.json:
        print(json.dumps({"schema": SCHEMA, **describe_run(ROOT), "figures": [asdict(f) for f in figures]}, indent=1))
    else:
        print("\n".join(_tables(arguments.only, figures)))
    return 0


def _tables(groups: list[str], figures: list[Figure]) -> Iterable[str]:
    for group in groups:
        mine = [f for f in figures if f.group == group]
        stages = list(dict.fromkeys(f.stage for f in mine))
        yield f"{GROUPS[group]}: CPU time in ms, median of {mine[0].jobs} jobs"
        yield "  size      " + "".join(f"{s:>28}" for s in stages)
        for size in dict.fromkeys(f.size for f in mine):
            row = {f.stage: f.cpu_ms for f in mine if f.size == size}
            yield f"  {size:>10g}" + "".join(f"{row[s]:>28.3f}" for s in stages)
        if group == "lidar":
            last = {f.stage: f.cpu_ms for f in mine if f.size == mine[-1].size}
            total = last["preprocess with deskew"] + last["cluster"]
            word = "within" if total <= LIDAR_BUDGET_MS else "BEYOND"
            yield f"  128 x 1024, deskew and clustering together: {total:.1f} ms, {word} {LIDAR_BUDGET_MS:g} ms"
        yield ""


def _plot(group: str, figures: list[Figure]) -> str:
    series = [
        Series(stage, tuple((f.size, f.cpu_ms) for f in figures if f.stage == stage))
        for stage in dict.fromkeys(f.stage for f in figures)
    ]
    return line_plot(GROUPS[group], GROUPS[group].partition(" against ")[2], "CPU time in ms", series)


if __name__ == "__main__":
    sys.exit(main())
