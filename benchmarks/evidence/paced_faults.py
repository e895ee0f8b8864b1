"""Every kind of fault that paced runs carry out, struck for real: who notices it, how soon, and what follows.

    python benchmarks/evidence/paced_faults.py [--rounds N] [--seed N] [--tier fifo|user] [--json] [-o FILE]

Every run is `rt-sched faults run --paced` as a user starts it, on a small system with a camera, a LiDAR and an IMU on
two cores, with a few faults one after the other. Each round strikes with every kind once, at instants that are drawn.
Exit code 1 where a fault went unnoticed, or was noticed by what does not find its kind. Times are as good as the
machine is quiet.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from machine import describe_run
from paced_campaigns import add_tier, best_tier, hand_over, parser_of
from paced_kills import STAGES

from rt_sched.faults.kinds import BY_NAME, KINDS

ROOT = Path(__file__).resolve().parents[2]
LOG = ROOT / "replay_data" / "hazard.mcap"
SYSTEM = """
rt_sched: 1
name: struck
policy: dm
devices:
  ecu: {processing_elements: {cpu: {kind: cpu, cores: 1, switch_cost: 0.2ms}}}
  far: {processing_elements: {cpu: {kind: cpu, cores: 1, switch_cost: 0.2ms}}}
deploy: {ecu.cpu: 1, far.cpu: 0}
links: {net: {bandwidth: 12.5MB/s, latency: 0.3ms, between: [ecu, far]}}
resources: {bus: {protocol: priority_inheritance}}
sensors:
  front_wide: {kind: camera, rate: 30Hz, latency: 5ms, jitter: 2ms, attached_to: ecu, topic: /camera/front_wide/*}
  lidar_top: {kind: lidar, rate: 10Hz, latency: 4ms, jitter: 2ms, attached_to: ecu, topic: /lidar/top/*}
  imu: {kind: imu, rate: 200Hz, latency: 0.2ms, jitter: 2ms, attached_to: ecu, topic: /imu/*}
tasks:
  pre:
    {stage: "pipelines.camera:Preprocess", runs_on: ecu.cpu, inputs: {image: front_wide}, execution: {wcet: 8ms},
     deadline: 30ms}
  backup:
    {stage: "safety.backup:LidarCorridor", runs_on: ecu.cpu, inputs: {points: lidar_top}, execution: {wcet: 8ms},
     deadline: 60ms, parameters: {lidar: lidar_top, ego_front_m: 3.75}}
  busy:
    {stage: "busy_stages:Busy", runs_on: ecu.cpu, activation: {rate: 20Hz}, inputs: {imu: {from: imu, required: false}},
     execution: {wcet: 5ms}, deadline: 45ms, parameters: {ms: 1}}
  distant:
    {stage: "busy_stages:Busy", runs_on: far.cpu, activation: {rate: 20Hz}, inputs: {imu: {from: imu, required: false}},
     execution: {wcet: 5ms}, deadline: 45ms, output_size: 200B, parameters: {ms: 1},
     critical_sections: [{resource: bus, to: 5ms}]}
  heard:
    {stage: "busy_stages:Busy", runs_on: ecu.cpu, activation: {rate: 20Hz},
     inputs: {imu: {from: distant, link: net, required: false}}, execution: {wcet: 5ms}, deadline: 45ms,
     parameters: {ms: 1}}
  arbiter:
    {stage: "safety.arbiter_stage:Arbiter", runs_on: ecu.cpu, activation: {rate: 50Hz},
     inputs: {backup: {from: backup, required: false}}, execution: {wcet: 3ms}, deadline: 15ms, priority: 0,
     parameters: {startup_grace_ms: 300, backup_age_limit_ms: 250, view_age_limit_ms: {lidar_top: 400}}}
safety: {arbiter: arbiter, primary: backup, heartbeat: {period: 20ms, misses: 5, margin: 5ms}}
"""
#: What a kind needs besides its target; and which sensor it strikes where it may strike any.
_MANNERS = {
    "camera.blur": "radius: 8",
    "lidar.sector": "from: -60deg, to: 60deg",
    "message.delay": "by: 150ms",
    "clock.step": "by: 20ms",
    "process.stall": "stall: 60ms",
    "process.kill": "restart: 50ms",
    "resource.hold": "by: 150ms",
}
_TARGETS = {
    "camera": "front_wide",
    "lidar": "lidar_top",
    "imu": "imu",
    "sensor": "lidar_top",
    "task": "busy",
    "link": "net",
    "resource": "bus",
}
#: Faults of one run begin this far apart, the first after monitors have learned what is usual; each lasts so long.
_FIRST_MS, _APART_MS, _LASTS_MS, _DRAWN_MS = 800, 800, 350, 200
_PER_RUN, _SECONDS = 4, 4
#: What may be noticed before the fault itself: that something is late, or that messages come at other distances.
_SIDE_EFFECTS = ("deadline", "rate")
_LIMIT_S = 300


def scripts(round_number: int, seed: int) -> Iterator[str]:
    """Every kind once, a few in each script; a device and the arbiter each alone, as nothing is as before then."""
    rng = random.Random(f"{seed}/{round_number}")  # noqa: S311  # instants, no secrets
    kinds = [kind for kind in KINDS if kind.paced and kind.name not in ("arbiter.kill", "device.loss")]
    rng.shuffle(kinds)
    for first in range(0, len(kinds), _PER_RUN):
        lines = []
        for place, kind in enumerate(kinds[first : first + _PER_RUN]):
            at_ms = _FIRST_MS + place * _APART_MS + rng.randrange(_DRAWN_MS)
            target = _TARGETS[kind.strikes.value]
            when = f"at: {at_ms}ms"
            if kind.name == "overrun":
                when = f"jobs: [{at_ms // 50}], demand: 60ms"
            lasts = f", for: {_LASTS_MS}ms" if "for" in kind.keys else ""
            manner = f", {_MANNERS[kind.name]}" if kind.name in _MANNERS else ""
            lines.append(f"  f{place}: {{kind: {kind.name}, target: {target}, {when}{lasts}{manner}}}")
        yield "\n".join(["rt_sched_faults: 1", "faults:", *lines, ""])
    at_ms = 2000 + rng.randrange(1000)
    yield f"rt_sched_faults: 1\nfaults:\n  gone: {{kind: device.loss, target: far, at: {at_ms}ms}}\n"
    yield f"rt_sched_faults: 1\nfaults:\n  dead: {{kind: arbiter.kill, at: {at_ms}ms, restart: 100ms}}\n"


def one_run(folder: Path, script: str, tier: str) -> dict[str, Any]:
    """The document of one run. Raises RuntimeError for one that failed."""
    (folder / "script.yaml").write_text(script, encoding="utf-8")
    call = "import sys; sys.argv[0] = 'rt-sched'; from rt_sched.cli import main; main()"
    options = ["--paced", "--tier", tier, "--duration", f"{_SECONDS}s", "--log", str(LOG), "--json"]
    ended = subprocess.run(
        [
            sys.executable,
            "-c",
            call,
            "faults",
            "run",
            "system.yaml",
            "script.yaml",
            *options,
            "-o",
            str(folder / "run"),
        ],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{folder}"},
        timeout=_LIMIT_S,
        check=False,
    )
    if ended.returncode not in (0, 1, 3):
        raise RuntimeError(f"exit code {ended.returncode}: {ended.stderr}")
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


def problems_of(row: dict[str, Any]) -> list[str]:
    """What must not be."""
    named = f"{row['kind']} of {row['target']}"
    if row["detected_by"] is None:
        return [f"{named}: {row['verdict']}, {row['reason']}"]
    allowed = {*BY_NAME[row["kind"]].found_paced_by, *_SIDE_EFFECTS}
    return [] if row["detected_by"] in allowed else [f"{named}: found by {row['detected_by']}"]


def by_kind(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each kind how often it was noticed in time, by whom, and how soon, in ns."""
    found = []
    for kind in KINDS:
        mine = [row for row in rows if row["kind"] == kind.name]
        after = sorted(row["detected_after_ns"] for row in mine if row["detected_after_ns"] is not None)
        if mine:
            found.append(
                {
                    "kind": kind.name,
                    "struck": len(mine),
                    "detected": sum(row["verdict"] == "detected" for row in mine),
                    "late": sum(row["verdict"] == "late" for row in mine),
                    "detected_by": sorted({row["detected_by"] for row in mine if row["detected_by"]}),
                    "detected_after_median_ns": after[len(after) // 2] if after else None,
                    "detected_after_max_ns": after[-1] if after else None,
                    "worst_case_max_ns": max((row["worst_case_ns"] or 0 for row in mine), default=None),
                    "reactions": sorted({row["reaction"]["state"] for row in mine if row["reaction"]}),
                    "reaction_after_max_ns": max(
                        (r["reaction"]["after_ns"] for r in mine if r["reaction"]), default=None
                    ),
                    "back_after_max_ns": max((row["back_after_ns"] or 0 for row in mine), default=0) or None,
                }
            )
    return found


def main() -> int:
    parser = parser_of(__doc__, "rounds", 10, "how often every kind strikes", seed="of instants and order")
    add_tier(parser)
    options = parser.parse_args()
    tier = best_tier(options.tier)
    rows: list[dict[str, Any]] = []
    risks: list[int] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "system.yaml").write_text(SYSTEM, encoding="utf-8")
        (folder / "busy_stages.py").write_text(STAGES, encoding="utf-8")
        for number in range(options.rounds):
            for script in scripts(number, options.seed):
                document = one_run(folder, script, tier)
                rows += document["faults"]
                bound_ns = document["actuator"]["bound_ns"]
                risks += [one["after_ns"] for one in document["actuator"]["minimal_risk"]]
            print(f"round {number + 1}: {len(rows)} faults", file=sys.stderr)
    problems = [problem for row in rows for problem in problems_of(row)]
    result = {
        "schema": "rt-sched/paced-faults/1",
        **describe_run(ROOT),
        "tier": tier,
        "seed": options.seed,
        "rounds": options.rounds,
        "kinds": by_kind(rows),
        "actuator": {"bound_ns": bound_ns, "minimal_risk": len(risks), "after_max_ns": max(risks, default=None)},
        "problems": problems,
    }
    hand_over(json.dumps(result, indent=1) + "\n", _table(result), options)
    return 1 if problems else 0


def _table(result: dict[str, Any]) -> str:
    lines = [f"tier {result['tier']}, ms: kind, struck, in time, late, by, after (median, max), worst case, reaction"]
    for one in result["kinds"]:
        median, most, worst = (
            "–" if one[key] is None else f"{one[key] / 1e6:.1f}"
            for key in ("detected_after_median_ns", "detected_after_max_ns", "worst_case_max_ns")
        )
        by, reactions = ", ".join(one["detected_by"]), ", ".join(one["reactions"]) or "–"
        lines.append(
            f"{one['kind']:18} {one['struck']:3} {one['detected']:3} {one['late']:3}  {by:24} {median:>7} {most:>7} "
            f"{worst:>7}  {reactions}"
        )
    return "\n".join([*lines, *result["problems"], ""])


if __name__ == "__main__":
    sys.exit(main())
