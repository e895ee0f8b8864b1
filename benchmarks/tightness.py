"""How near do legal runs come to the bounds: longest times alone, random runs, and the guided search with as many runs.

    python benchmarks/tightness.py [--systems N] [--runs N] [--seed N]

Three kinds of systems. `processor`: four sporadic tasks on one processor with release jitter, executions from half of
the worst case on, periods of 1 to 20 ms to the nanosecond, loads of 0.6 to 0.9: fixed priorities with and without
preemption, and EDF. `distributed`: the random systems of the tests (several devices, pipelines, links, locks), a
thousand times as slow, so that nanoseconds lie between all of their instants. And examples/quad_orin.yaml.

For every response, reaction, latency and data age that has a bound: the longest time found as a share of that.
`longest`: a simulation as declared in which every job needs its worst case, for four times as long as a run of a
search. Exit status 1 when a bound is exceeded.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "analysis"), str(ROOT / "tests" / "search")]

from random_distributed_cases import random_distributed  # noqa: E402
from searched import Searched, searched, system_of  # noqa: E402

from rt_sched.app.inputs.stages import ImportedStages  # noqa: E402
from rt_sched.config import load_system  # noqa: E402
from rt_sched.lowering import check_plan  # noqa: E402
from rt_sched.model import Plan, System  # noqa: E402

SLOWER = 1000


def one_processor(seed: int) -> System:
    """System `seed` of this kind."""
    rng = random.Random(seed)  # noqa: S311 - reproducible
    policy, preemption = rng.choice((("fixed_priority", "any"), ("fixed_priority", "none"), ("edf", "any")))
    load, count = rng.uniform(0.6, 0.9), 4
    cuts = [0.0, *sorted(rng.uniform(0, load) for _ in range(count - 1)), load]
    element = f"{{kind: cpu, policy: {policy}, preemption: {preemption}}}"
    lines = [f"devices: {{ecu: {{processing_elements: {{cpu: {element}}}}}}}", "tasks:"]
    for number in range(count):
        period_ns = int(10 ** rng.uniform(6, 7.3))
        wcet_ns = max(int((cuts[number + 1] - cuts[number]) * period_ns), 1000)
        jitter_ns = rng.choice((0, rng.randint(1, period_ns // 4)))
        execution = f"{{bcet: {(wcet_ns + 1) // 2}ns, wcet: {wcet_ns}ns}}"
        activation = f"{{min_separation: {period_ns}ns, jitter: {jitter_ns}ns}}"
        lines.append(f"  t{number}: {{runs_on: ecu.cpu, activation: {activation}, execution: {execution}}}")
    return system_of("\n".join(lines) + "\n")


def slower(part: Any, name: str = "") -> Any:
    """A part of a system in which everything takes so many times as long."""
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{one.name: slower(getattr(part, one.name), one.name) for one in fields(part)})
    if isinstance(part, tuple):
        return tuple(slower(one, name) for one in part)
    if part is not None and name.endswith("_ns"):
        return part * SLOWER
    if part is not None and (name == "rate_hz" or name == "bandwidth_bytes_per_s"):
        return Fraction(part) / SLOWER
    return part


def systems(count: int) -> Iterator[tuple[str, str, System, Plan | None]]:
    """Kind, name, system and plan; a plan of None is the planner's."""
    for seed in range(count):
        yield "processor", f"processor {seed}", one_processor(seed), None
    for seed in range(count):
        system, plan = random_distributed(seed)
        if not check_plan(slower(system), plan):
            yield "distributed", f"distributed {seed}", slower(system), plan
    path = ROOT / "examples" / "quad_orin.yaml"
    yield "quad_orin", "quad_orin", load_system(path, stages=ImportedStages()), None


def shares_of(system: Searched, runs: int, seed: int) -> dict[str, list[float]]:
    """By way of looking, the share of every bound."""
    bounded = [goal for goal in system.goals if goal.bound_ns]
    simple = system.with_longest_times(seed)
    shares = {"longest": [max(simple[goal.name, goal.quantity], 0) / (goal.bound_ns or 1) for goal in bounded]}
    for way in ("random", "guided"):
        found = system.search(runs, seed=seed, guided=way == "guided").found
        by_goal = dict(zip(system.goals, found, strict=True))
        values = [(goal.bound_ns or 1, by_goal[goal]) for goal in bounded]
        shares[way] = [0.0 if one is None else one.value_ns / bound_ns for bound_ns, one in values]
    return shares


def main() -> int:
    """Prints a line a kind and way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=20, help="of each random kind")
    parser.add_argument("--runs", type=int, default=1000, help="of each search")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    found: dict[tuple[str, str], list[float]] = {}
    counts: dict[str, int] = {}
    exceeded, began = 0, time.process_time()
    for kind, name, system, plan in systems(asked.systems):
        counts[kind] = counts.get(kind, 0) + 1
        for way, shares in shares_of(searched(system, plan), asked.runs, asked.seed).items():
            found.setdefault((kind, way), []).extend(shares)
            over = sum(share > 1 for share in shares)
            if over:
                print(f"{name}: {over} bounds exceeded, {way}", flush=True)
                exceeded += over
    spent_s = time.process_time() - began
    print(f"{asked.runs} runs each, seed {asked.seed}; {spent_s:.0f} s of processor time")
    print(f"{'systems':16}{'looked at':>10}  {'way':8}{'median %':>9}{'mean %':>8}{'reached':>9}")
    for (kind, way), shares in found.items():
        reached = sum(share >= 1 for share in shares)
        middle, mean = 100 * statistics.median(shares), 100 * statistics.fmean(shares)
        print(f"{kind + ' ' + str(counts[kind]):16}{len(shares):10}  {way:8}{middle:9.2f}{mean:8.2f}{reached:9}")
    return int(exceeded > 0)


if __name__ == "__main__":
    sys.exit(main())
