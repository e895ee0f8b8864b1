"""Recovery times of every planned loss, at many instants of the cycle, beside their bounds: schedules, no stage code.

    python benchmarks/failover.py SYSTEM.yaml PLAN.yaml [--instants N] [--json FILE] [--plot FILE.svg]

Each run begins anew: sensors at their nominal rates with seeded latencies, execution times drawn from the declared
profiles. The losses come at evenly spaced instants of one largest period of the sensors, the k-th of N in the k-th run,
and each run has a seed of its own. Recovered is the last path to which the limit on recovery applies: from the loss to
the first output of the arbiter behind the kept, or a newer, frame. Every single run is held against the bound of each
path, against that of the whole recovery, and against the limit that the system file sets.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evidence.machine import describe_run
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.runs.takeover_runs import TakeoverJudge
from rt_sched.config import load_system
from rt_sched.config.plan_file import load_plan_file
from rt_sched.lowering import lower, nominal_samples
from rt_sched.model import Fault, FaultKind, Plan, System, Takeover
from rt_sched.runtime.detection import detect
from rt_sched.runtime.recovery import published_rows, recovered_ns
from rt_sched.sim import Simulation

ROOT = Path(__file__).resolve().parents[1]
#: Time for the run to settle before the loss, and to recover after it.
_BEFORE_NS, _AFTER_NS = 200_000_000, 250_000_000

Row = dict[str, Any]


def measured(system: System, plan: Plan, takeover: Takeover, instants: int, judged: TakeoverJudge) -> Row:
    """One loss at `instants` instants of the cycle. Raises AnalysisNotApplicable where it has no bounds."""
    found = judged.judge.judge(judged.mode, takeover)
    kind, _, target = takeover.losses[0].partition(":")
    cycle_ns = max(int(10**9 / sensor.rate_hz) for sensor in system.sensors)
    horizon_ns = _BEFORE_NS + cycle_ns + _AFTER_NS
    counted = [one for one in found.recoveries if one.counted]
    sensors = [sensor.name for sensor in system.sensors]
    detected, recovered, over, none = [], [], 0, 0
    for run in range(instants):
        fault = Fault(FaultKind(kind), target, _BEFORE_NS + run * cycle_ns // instants)
        samples = nominal_samples(system, horizon_ns, run)
        detection = detect(system, plan, samples, [fault], sensors, horizon_ns)
        decision = next(one for one in detection.decisions if one.takeover is takeover)
        given = lower(
            system,
            plan,
            samples,
            horizon_ns=horizon_ns,
            seed=run,
            faults=[fault],
            plan_changes=detection.plan_changes,
        )
        simulation = Simulation(given, rows=4096)
        simulation.run()
        trace = simulation.trace()
        published = published_rows(trace)
        switch_ns = decision.in_force_ns or 0
        last_ns = switch_ns
        for path in counted:
            tasks = list(dict.fromkeys(name for name in path.path if name not in sensors))
            at_ns = recovered_ns(trace, tasks, switch_ns, published)
            none += at_ns is None
            last_ns = max(last_ns, at_ns or 0)
            over += path.value_ns is not None and at_ns is not None and at_ns - switch_ns > path.value_ns
        detected.append(decision.noticed_ns - fault.time_ns)
        recovered.append(last_ns - fault.time_ns)
    took_ns = recovered if counted else []
    return {
        "loss": takeover.losses[0],
        "instants": instants,
        "paths": len(counted),
        "detected_ns": _spread(detected),
        "detection_bound_ns": found.detection.value_ns,
        "recovered_ns": _spread(took_ns) if took_ns else None,
        "recovery_bound_ns": found.recovered_ns,
        "limit_ns": found.limit_ns,
        "over_bound": over + _over(took_ns, found.recovered_ns),
        "over_limit": _over(took_ns, found.limit_ns),
        "not_recovered": none,
        "all_recovered_ns": sorted(took_ns),
    }


def _over(values: Sequence[int], most_ns: int | None) -> int:
    """How many are larger; none where nothing is promised."""
    return 0 if most_ns is None else sum(value > most_ns for value in values)


def _spread(values: Sequence[int]) -> Row:
    """Smallest, median, 99th percentile and largest; each is one of the values."""
    least, median, p99, most = (int(np.percentile(values, p, method="higher")) for p in (0, 50, 99, 100))
    return {"min": least, "p50": median, "p99": p99, "max": most}


def plotted(rows: Sequence[Row]) -> str:
    """One row per loss: a dot for each run, the bound, and the limit."""
    shown = [row for row in rows if row["all_recovered_ns"]]
    left, width, step = 150, 520, 26
    limit_ns = max((row["limit_ns"] or 0 for row in shown), default=0)
    right_ns = 1.1 * max([limit_ns, *(row["recovery_bound_ns"] or 0 for row in shown)], default=1)
    height = step * len(shown) + 60

    def x(value_ns: int) -> float:
        return round(left + width * value_ns / right_ns, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="100%" height="{height}" fill="#fff"/>',
        f'<text x="{left}" y="16">ms from the loss to recovery: runs (dots), bound (bar), limit (dashed)</text>',
    ]
    for number, row in enumerate(shown):
        y = 38 + step * number
        parts.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{row["loss"]}</text>')
        places = sorted({round(x(value)) for value in row["all_recovered_ns"]})
        parts += [f'<circle cx="{place}" cy="{y}" r="2" fill="#1a6fb5" fill-opacity="0.5"/>' for place in places]
        if row["recovery_bound_ns"] is not None:
            at = x(row["recovery_bound_ns"])
            parts.append(f'<path d="M{at} {y - 9}v18" stroke="#b5391a" stroke-width="3"/>')
    if limit_ns:
        parts.append(f'<path d="M{x(limit_ns)} 24V{height - 24}" stroke="#333" stroke-dasharray="4 3"/>')
    for tick_ms in range(0, int(right_ns / 1e6) + 1, 20):
        parts.append(f'<text x="{x(tick_ms * 1_000_000)}" y="{height - 8}" text-anchor="middle">{tick_ms}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> int:
    """The benchmark; exit 1 where a run was over its bound or limit, or not recovered."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", type=Path)
    parser.add_argument("plan", type=Path)
    parser.add_argument("--instants", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    system = load_system(given.system, stages=ImportedStages())
    plan = load_plan_file(given.plan, system).plan
    judged = TakeoverJudge(system, plan)
    rows = []
    for takeover in plan.takeovers:
        row = measured(system, plan, takeover, given.instants, judged)
        rows.append(row)
        took, bound_ns = row["recovered_ns"], row["recovery_bound_ns"]
        largest = (
            "-" if took is None else f"{took['p50'] / 1e6:.1f} / {took['p99'] / 1e6:.1f} / {took['max'] / 1e6:.1f}"
        )
        bound = "-" if bound_ns is None else f"{bound_ns / 1e6:.1f}"
        over = f"over {row['over_bound']}, over the limit {row['over_limit']}"
        print(f"{row['loss']:24} p50 / p99 / max {largest:22} bound {bound:6} {over}", flush=True)
    if given.plot:
        given.plot.write_text(plotted(rows), encoding="utf-8")
    if given.json:
        kept = [{key: value for key, value in row.items() if key != "all_recovered_ns"} for row in rows]
        document = {"schema": "rt-sched/failover/1", "run": describe_run(ROOT), "losses": kept}
        given.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return int(any(row["over_bound"] or row["over_limit"] or row["not_recovered"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
