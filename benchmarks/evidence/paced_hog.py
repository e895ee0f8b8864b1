"""Paced runs with an ordinary process that never rests on each of their cores: which tiers keep their deadlines.

    python benchmarks/evidence/paced_hog.py [--runs N] [--tier deadline|fifo|user] [--json] [-o FILE]

Every run is `rt-sched replay --paced` of the shipped log on the shipped example for two cores. From the begin of run
time on, one process a core computes without end, of the same class and niceness as any other program. A tier holds when
99 of 100 jobs of every task are done within their deadlines and no job exceeds its bound while every monitor holds; the
user tier, which has no bounds, has to say so. Exit code 1 where a tier that this host has does not hold.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe_run
from paced_campaigns import hand_over, parser_of
from sessions import family

from rt_sched.runtime.host.child import on_cores
from rt_sched.runtime.host.tiers import Tier, available_tiers
from rt_sched.trace.records import JobStatus

ROOT = Path(__file__).resolve().parents[2]
LOG = ROOT / "replay_data" / "hazard.mcap"
SYSTEM = ROOT / "examples" / "host_two_cores.yaml"
CORES = (0, 1)
#: Takes this name when run time begins.
_PUBLISHER = "rt-publishing"
_START_LIMIT_S = 180.0


def hogs(cores: Sequence[int]) -> AbstractContextManager[None]:
    """Meanwhile an ordinary process computes on each of the cores."""
    return on_cores(cores, _compute)


def _compute() -> None:
    while True:
        pass


def shares_of_deadline(folder: Path) -> dict[str, np.ndarray]:
    """By task, response / deadline of its jobs, in their order; infinite for one that did not complete in the run."""
    with np.load(folder / "trace.npz") as file:
        columns = {key.removeprefix("jobs."): file[key] for key in file.files if key.startswith("jobs.")}
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    found = {}
    for index, row in enumerate(summary["tasks"]):
        asked = (columns["task"] == index) & (columns["deadline_ns"] <= summary["duration_ns"])
        asked &= columns["status"] != JobStatus.SKIPPED  # an input that another task owes is that task's miss
        done = columns["status"][asked] == JobStatus.COMPLETED
        arrival, deadline = columns["arrival_ns"][asked], columns["deadline_ns"][asked]
        share = (columns["finish_ns"][asked] - arrival) / (deadline - arrival)
        found[row["name"]] = np.where(done, share, np.inf)
    return found


def run_beside_hogs(folder: Path, tier: str) -> int:
    """One run; its exit code."""
    call = "import sys; sys.argv[0] = 'rt-sched'; from rt_sched.cli import main; main()"
    options = ["replay", str(LOG), "--system", str(SYSTEM), "--paced", "--tier", tier, "--json", "-o", str(folder)]
    process = subprocess.Popen(
        [sys.executable, "-c", call, *options],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    _wait_until_begun(process)
    with hogs(CORES):
        return process.wait()


def _wait_until_begun(process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _START_LIMIT_S
    while process.poll() is None and time.monotonic() < until:
        if any(one.name == _PUBLISHER for one in family(process.pid).values()):
            return
        time.sleep(0.02)


def campaign_of(tier: str, runs: int) -> dict[str, Any]:
    """`runs` of one tier: every task's shares of its deadline, what the runs said, and what does not hold."""
    shares: dict[str, list[np.ndarray]] = {}
    statuses, problems = [], []
    for number in range(runs):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "run"
            code = run_beside_hogs(folder, tier)
            if code not in (0, 1, 3):
                problems.append(f"run {number} ended with exit code {code}")
                continue
            summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
            statuses.append(f"{summary['status']}: {summary['reason']}")
            if summary["status"] == "bound_violated":
                problems.append(f"run {number}: {summary['reason']}")
            if tier == Tier.USER.value and not any("no bounds" in note for note in summary["notes"]):
                problems.append(f"run {number} does not say that the user tier has no bounds")
            for task, share in shares_of_deadline(folder).items():
                shares.setdefault(task, []).append(share)
    rows = [_row(task, np.concatenate(found)) for task, found in shares.items()]
    if tier != Tier.USER.value:
        problems += [f"{row['task']}: p99 is {row['p99']:.2f} of the deadline" for row in rows if row["p99"] > 1]
    return {"tier": tier, "runs": runs, "tasks": rows, "said": statuses, "problems": problems}


def _row(task: str, share: np.ndarray) -> dict[str, Any]:
    """Quantiles are jobs that were, not between two; a job without end counts as more than all others."""
    ordered = np.sort(share)

    def at(part: float) -> float:
        return float(ordered[min(len(ordered) - 1, int(np.ceil(part * len(ordered))) - 1)])

    return {
        "task": task,
        "jobs": len(ordered),
        "p50": at(0.5),
        "p99": at(0.99),
        "max": at(1.0),
        "missed": int(np.count_nonzero(ordered > 1)),
    }


def main() -> int:
    parser = parser_of(__doc__, "runs", 10, "of each tier")
    parser.add_argument("--tier", choices=[tier.value for tier in Tier], help="only this one")
    options = parser.parse_args()
    there = [one.tier.value for one in available_tiers() if one.available]
    wanted = [tier for tier in there if options.tier in (None, tier)]
    campaigns = [campaign_of(tier, options.runs) for tier in wanted]
    document = {"schema": "rt-sched/hog/1", **describe_run(ROOT), "tiers_there": there, "campaigns": campaigns}
    text = json.dumps(document, indent=1).replace("Infinity", "null") + "\n"
    hand_over(text, "".join(_table(one) for one in campaigns), options)
    return 1 if not campaigns or any(one["problems"] for one in campaigns) else 0


def _table(one: dict[str, Any]) -> str:
    lines = [
        f"tier {one['tier']}: {one['runs']} runs beside a process that never rests on each core",
        "  task               jobs  missed  response / deadline p50    p99    max",
    ]
    for row in one["tasks"]:
        quantiles = "  ".join(f"{row[name]:5.2f}" for name in ("p50", "p99", "max"))
        lines.append(f"  {row['task']:17} {row['jobs']:5}  {row['missed']:6}                     {quantiles}")
    return "\n".join([*lines, *(f"  {text}" for text in [*dict.fromkeys(one["said"]), *one["problems"]]), ""])


if __name__ == "__main__":
    sys.exit(main())
