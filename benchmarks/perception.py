"""How well the pipelines see and decide: scenes with known truth, and real frames against the FP32 detector.

    python benchmarks/perception.py [--scenes NAME ...] [--losses] [--system FILE] [--data FOLDER] [--keep FOLDER]
        [--json]

Makes each scene (or takes it from --keep, where an earlier run left it), replays it with `rt-sched`'s own code and
judges what lies in the run's output.mcap. Detection: recall and precision of boxes at IoU 0.5, per kind of road user,
within 40 m. Fusion: recall and precision of tracks, switches of track numbers, error of range. Decision: error of the
time to collision below 3 s, and whether the reaction was the one that the scene asks for; the car that obeys the
commands is modelled in sensors/scene/outcome.py. With --losses the shipped hazard scene is replayed for each loss of
sensors in quality/degradation.py. Real frames come from --data (skipped, with the reason, where that is not there).
Takes about 15 s of one core per second of a scene, and up to half a minute per loss.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks" / "evidence"), str(ROOT / "benchmarks" / "quality")]

import detections  # noqa: E402
import tracks  # noqa: E402
from degradation import degradation  # noqa: E402
from machine import describe_run  # noqa: E402
from outputs import read_outputs  # noqa: E402
from reaction import reaction, time_to_collision  # noqa: E402
from real_frames import real_frames  # noqa: E402
from truth import Truth  # noqa: E402

from rt_sched.app.progress import Quiet  # noqa: E402
from rt_sched.app.replay.job import ReplayRequest, run_replay  # noqa: E402
from rt_sched.app.scene import SceneRequest, make_scene  # noqa: E402
from rt_sched.units import NS_PER_MS, NS_PER_S  # noqa: E402
from sensors.scene.catalogue import SCENES, build_world, find_scene  # noqa: E402

SCHEMA = "rt-sched/perception-quality/1"
DATA = ROOT.parent / "shared" / "data"
#: Tracks are judged from here on: a track needs a few sweeps to be one.
WARM_UP_NS = 500 * NS_PER_MS


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scenes", nargs="*", default=list(SCENES), metavar="NAME", help="default: all; none for none")
    parser.add_argument("--system", default=str(ROOT / "examples" / "quad_orin.yaml"), help="system file")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with real frames and the FP32 model")
    parser.add_argument("--keep", type=Path, help="folder for the scenes, which a later run takes up again")
    parser.add_argument("--losses", action="store_true", help="replay the hazard scene without some of its sensors")
    parser.add_argument("--json", action="store_true", help="print the results as JSON instead of tables")
    arguments = parser.parse_args()
    document: dict[str, Any] = {"schema": SCHEMA, **describe_run(ROOT), "scenes": [], "losses": [], "real_frames": []}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        keep = arguments.keep or work
        keep.mkdir(parents=True, exist_ok=True)
        for name in arguments.scenes:
            print(f"{name} ...", file=sys.stderr, flush=True)
            document["scenes"].append(judge(name, arguments.system, keep, work))
        if arguments.losses:
            print("losses ...", file=sys.stderr, flush=True)
            document["losses"] = list(degradation(ROOT, arguments.system, work))
        if arguments.data.is_dir():
            print("real frames ...", file=sys.stderr, flush=True)
            document["real_frames"] = list(real_frames(arguments.data, work))
        else:
            document["real_frames"] = [{"skipped": f"{arguments.data} is not there"}]
    if arguments.json:
        json.dump(document, sys.stdout, indent=2)
        print()
    else:
        show(document)
    return 0


def judge(name: str, system: str, keep: Path, work: Path) -> dict[str, Any]:
    """Makes, replays and judges one scene."""
    scene = find_scene(name)
    log = keep / f"{name}.mcap"
    if not log.exists():
        make_scene(SceneRequest(name=name, output=log, overwrite=True), Quiet())
    run = run_replay(ReplayRequest(log=str(log), system=system, output=work / "run"), Quiet())
    found = read_outputs(run.folder / "output.mcap")
    truth = Truth(log.with_name(f"{name}_truth.json"))
    return {
        "scene": name,
        "status": run.summary["status"],
        "detection": detections.against_truth(truth, found.detections),
        "tracking": tracks.against_truth(truth, found.tracks, from_ns=truth.epoch_ns + WARM_UP_NS),
        "time_to_collision": time_to_collision(truth, found.decisions),
        "reaction": reaction(truth, build_world(scene, duration_s=scene.duration_s), found.decisions),
    }


def show(document: dict[str, Any]) -> None:
    """The results as tables."""
    print(f"commit {document['commit']}, {document['machine']['processor']}")
    detection: list[list[str]] = []
    for row in document["scenes"]:
        names = [row["scene"], text(row["detection"]["lead_found"])]
        for group, figures in row["detection"]["groups"].items():
            name, lead = names
            names = ["", ""]
            detection.append(
                [name, group, str(figures["wanted"]), text(figures["recall"]), text(figures["precision"]), lead]
            )
    table(["detection", "kind", "wanted", "recall", "precision", "lead <= 40 m"], detection)
    fusion = []
    for row in document["scenes"]:
        tracking, ttc = row["tracking"], row["time_to_collision"]
        error, late = tracking["range_error_m"], ttc["error_s"]
        fusion.append(
            [row["scene"], str(tracking["wanted"])]
            + [text(tracking[key]) for key in ("recall", "precision", "switches")]
            + [text(error[key]) for key in ("mean", "median_abs", "p95_abs")]
            + [text(late["median_abs"]), text(late["p95_abs"]), text(ttc["told"])]
        )
    range_heads = ["range error m: mean", "median", "p95"]
    ttc_heads = ["TTC error s: median", "p95", "told"]
    table(["fusion", "wanted", "recall", "precision", "switches", *range_heads, *ttc_heads], fusion)
    decision = []
    for row in document["scenes"]:
        had = row["reaction"]
        decision.append(
            [row["scene"], had["wanted"], "yes" if had["right"] else "NO"]
            + [seconds(had[key]) for key in ("hazard_ns", "emergency_ns", "last_chance_ns")]
            + [text(had.get(key)) for key in ("ttc_at_emergency_s", "hardest_m_s2", "least_gap_m", "impact_m_s")]
        )
    times = ["in sight s", "emergency s", "last chance s"]
    table(["reaction", "wanted", "right", *times, "TTC s", "hardest m/s2", "least gap m", "impact m/s"], decision)
    lost = [
        [row["loss"], row["path"] or "-", seconds(row["emergency_ns"])]
        + [text(row[key]) for key in ("told_ttc_s", "ttc_at_emergency_s", "least_gap_m", "impact_m_s")]
        for row in document["losses"]
    ]
    table(["sensors lost", "path", "emergency s", "TTC told s", "true s", "least gap m", "impact m/s"], lost)
    frames = []
    for row in document["real_frames"]:
        agreed = row.get("int8_against_fp32") or {}
        smooth = row.get("time_to_collision") or {}
        figures = (row.get("count"), row.get("car_ahead_found"), agreed.get("recall"), agreed.get("precision"))
        figures += (smooth.get("least_quotient"), smooth.get("largest_drop_s"), smooth.get("least_s"))
        frames.append([row.get("frames", "-"), *map(text, figures), row.get("skipped", "")])
    agreement_heads = ["INT8 recall of FP32", "precision"]
    smooth_heads = ["TTC told / gap's", "drop s", "least s"]
    table(["real frames", "frames", "car ahead", *agreement_heads, *smooth_heads, "skipped"], frames)


def table(heads: list[str], rows: list[list[str]]) -> None:
    """Columns as wide as their widest entry; the first to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in [heads, *rows]) for column in range(len(heads))]
    print()
    for row in [heads, *rows]:
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join([first.strip().ljust(widths[0]), *others]).rstrip())


def text(value: float | None) -> str:
    """A number, or a dash for none."""
    return "-" if value is None else f"{value:.3g}"


def seconds(value_ns: int | None) -> str:
    """A time in seconds, or a dash."""
    return "-" if value_ns is None else f"{value_ns / NS_PER_S:.2f}"


if __name__ == "__main__":
    sys.exit(main())
