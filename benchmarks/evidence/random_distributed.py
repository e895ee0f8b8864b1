"""Does anything in many random systems of several devices take longer than its bound, and how near does it come?

    python benchmarks/evidence/random_distributed.py [--systems 10000] [--first SEED] [--jobs N] [--fresh]

Two to five devices with processors of all policies, links, sensors, pipelines of messages and of tasks that sample,
joins, queues, LET and locks. Every system is analysed and run by the kernel in several legal ways, with phases,
arrivals, releases, samples and demands against it. Responses are compared with every method by itself and with the best
bound, reactions, latencies and data ages with those of chains; reactions also with the plain sum (Davare et al. 2007)
of the same responses, and of those without the second step, which knows offsets. Then the system is written down in
another order, or one task needs less: no bound may change, or get longer.

Blocks of systems are kept as in random_analysis.py. The exit status is 1 when a bound is exceeded, a comparison fails,
or something is met too rarely. The result goes to benchmarks/results/random_distributed.json.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from blocks import ROOT, Blocks, arguments_of
from machine import describe_run
from random_analysis import sources
from shares import STEPS, add, median_share, together

RESULT = ROOT / "benchmarks" / "results" / "random_distributed.json"
_TESTS = ROOT / "tests" / "analysis"
_LISTED = 50
#: Least counts by thousand systems, of what is counted under these names.
_LEAST = {
    "systems": 950,
    "task bounded": 4000,
    "task without a bound": 100,
    "chain bounded": 800,
    "chain without a bound": 50,
    "judged reaction": 700,
    "task shorter by the second step": 300,
    "over a link": 700,
    "join all": 100,
    "join any": 50,
    "join latest": 1500,
    "let": 200,
    "section": 100,
    "orders": 400,
    "shorter": 250,
    "fp_response_time accepted": 2000,
    "fp_response_time inconclusive": 10,
    "edf_response_time accepted": 500,
    "edf_response_time inconclusive": 2,
    "fifo_response_time accepted": 150,
    "fifo_response_time inconclusive": 2,
    "slice_supply accepted": 200,
    "offset_response_time accepted": 1000,
    "offset_response_time inconclusive": 10,
    "offset_simulation accepted": 40,
    "global_fp accepted": 10,
    "best by dag_response_time": 100,
}

sys.path.insert(0, str(_TESTS))


@dataclass(frozen=True)
class Block:
    """What the systems [first, first + count) showed.

    `shares`: by method, or quantity and method, how many bounds came how near; `sums`: likewise how large reactions
    are beside the plain sum of the same responses, `plain`, beside that without the second step, `first_step`, and
    beside that with a period for every task, `sampled`, also for those that messages activate.
    """

    first: int
    count: int
    violations: list[str]
    counts: dict[str, int]
    shares: dict[str, list[int]]
    sums: dict[str, list[int]]


def run_block(first: int, count: int) -> Block:
    """Look at the systems [first, first + count) in this process."""
    from random_distributed_checks import check_distributed

    counts: Counter[str] = Counter()
    violations: list[str] = []
    shares: dict[str, list[int]] = {}
    sums: dict[str, list[int]] = {}
    for seed in range(first, first + count):
        outcome = check_distributed(seed)
        counts.update(outcome.counts)
        violations += outcome.violations
        for name, found in (*outcome.tightness.items(), *outcome.chain_shares.items()):
            add(shares, name, found)
        add(sums, "plain", outcome.davare_shares)
        add(sums, "first_step", outcome.step_shares)
        add(sums, "sampled", outcome.sampled_shares)
    return Block(first, count, violations, dict(counts), shares, sums)


def _compared(steps: list[int]) -> dict[str, float]:
    """How many reactions were compared with a sum, what share of them is less, and how the half of them compares."""
    total = sum(steps)
    less = total - steps[STEPS]
    return {"chains": total, "less": less, "share_less": round(less / max(1, total), 4), "median": median_share(steps)}


def _summary(blocks: list[Block], systems: int) -> tuple[dict[str, Any], list[str]]:
    """The parts of the result that are counted, and what was met too rarely, in words."""
    counts: Counter[str] = Counter()
    for block in blocks:
        counts.update(block.counts)
    shares = together(block.shares for block in blocks)
    kinds = ("accepted", "refused", "inconclusive", "later job")
    methods = {
        name: {kind.replace(" ", "_"): counts[f"{name} {kind}"] for kind in kinds}
        | {"best": counts[f"best by {name}"], "median_tightness": median_share(steps), "attained": steps[STEPS]}
        for name, steps in sorted(shares.items())
        if f"{name} accepted" in counts
    }
    chains = {
        name: {"bounds": sum(steps), "median_tightness": median_share(steps), "attained": steps[STEPS]}
        for name, steps in sorted(shares.items())
        if name not in methods
    }
    by_method = tuple(f"{name} " for name in methods)
    met = {name: count for name, count in sorted(counts.items()) if not name.startswith((*by_method, "best by"))}
    sums = {name: _compared(steps) for name, steps in together(block.sums for block in blocks).items()}
    rare = [
        f"{name}: {counts[name]}, not {least * systems / 1000:g}"
        for name, least in _LEAST.items()
        if counts[name] < int(least * systems / 1000)
    ]
    rare += [
        f"reactions less than the {name} sum: {one['less']} of {one['chains']}, not half of them"
        for name, one in sums.items()
        if name == "sampled" and 2 * one["less"] < one["chains"]
    ]
    return {"met": met, "methods": methods, "chains": chains, "beside_the_sum": sums}, rare


def main() -> int:
    """Run or go on, print the tables, write the result."""
    arguments = arguments_of(__doc__, RESULT, systems=10_000)
    if arguments.block is not None:
        print(json.dumps(asdict(run_block(arguments.block, arguments.systems))))
        return 0
    begun = time.monotonic()
    plan = Blocks(Path(__file__), 100, sources, lambda one: len(one["violations"]))
    found, crashes = plan.run(arguments.first, arguments.systems, arguments.jobs, arguments.partial)
    blocks = [Block(**one) for one in found]
    summary, rare = _summary(blocks, arguments.systems)
    violations = [*crashes, *(one for block in blocks for one in block.violations)]
    result = {
        "schema": "rt-sched-random-distributed/1",
        **describe_run(ROOT),
        "seconds": round(time.monotonic() - begun, 1),
        "first": arguments.first,
        "systems": arguments.systems,
        "violations": len(violations),
        "first_violations": violations[:_LISTED],
        "met_too_rarely": rare,
        **summary,
    }
    arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if not crashes:
        arguments.partial.unlink()
    _print(summary)
    print(f"{arguments.systems} systems: {len(violations)} violations, {len(rare)} kinds met too rarely")
    for text in (*violations[:_LISTED], *rare):
        print(f"  {text}")
    return 1 if violations or rare else 0


def _print(summary: Mapping[str, Any]) -> None:
    print(f"{'method':<26}{'bounds':>9}{'best':>9}{'refused':>9}{'no bound':>9}{'attained':>9}{'median':>8}")
    for name, one in summary["methods"].items():
        row = [one[key] for key in ("accepted", "best", "refused", "inconclusive", "attained")]
        print(f"{name:<26}" + "".join(f"{value:>9}" for value in row) + f"{one['median_tightness']:>8.2f}")
    for name, one in summary["chains"].items():
        print(f"{name:<44}{one['bounds']:>9}{one['attained']:>18}{one['median_tightness']:>8.2f}")
    for name, one in summary["beside_the_sum"].items():
        print(
            f"reaction beside the {name} sum: {one['share_less']:.1%} of {one['chains']} less, median {one['median']}"
        )


if __name__ == "__main__":
    sys.exit(main())
