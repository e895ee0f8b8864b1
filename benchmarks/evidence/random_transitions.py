"""Does any response exceed its bound while the mode of a random system changes, or while its jobs overrun?

    python benchmarks/evidence/random_transitions.py [--systems N] [--first SEED] [--jobs N] [--fresh]

Every change between two modes of a random system, with tasks that come and go and frequencies that change, and one
overrun of some jobs of a task in each, are analysed and run by the kernel in several legal ways, with the change at any
instant. Blocks of systems are kept as in random_analysis.py. The exit status is 1 when a bound is exceeded, or a kind
of task or method was met too rarely. The result goes to benchmarks/results/random_transitions.json.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from blocks import ROOT, Blocks, arguments_of
from machine import describe_run
from random_analysis import sources
from shares import STEPS, Block, look, median_share, together

RESULT = ROOT / "benchmarks" / "results" / "random_transitions.json"
_TESTS = ROOT / "tests" / "analysis"
_LISTED = 50
#: Least bounds by thousand systems, of what is counted under these names.
_LEAST = {
    "fp_mode_change kept": 20.0,
    "fp_mode_change added": 20.0,
    "busy_period_mode_change kept": 10.0,
    "busy_period_mode_change added": 10.0,
    "edf_response_time kept": 20.0,
    "fp_response_time, with overrun": 50.0,
    "edf_response_time, with overrun": 30.0,
    "fifo_response_time, with overrun": 3.0,
    "slice_supply, with overrun": 3.0,
}

sys.path.insert(0, str(_TESTS))


def run_block(first: int, count: int) -> Block:
    """Look at the systems [first, first + count) in this process."""
    from random_overrun_checks import check_overruns
    from random_transition_checks import check_transitions

    return look(first, count, check_transitions, check_overruns)


def _summary(blocks: list[Block], systems: int) -> tuple[dict[str, dict[str, float]], dict[str, int], list[str]]:
    """By method its bounds and tightness; what was met, and what too rarely, in words."""
    counts: Counter[str] = Counter()
    for block in blocks:
        counts.update(block.counts)
    shares = together(block.shares for block in blocks)
    methods: dict[str, dict[str, float]] = {
        name: {"bounds": sum(steps), "median_tightness": median_share(steps), "attained": steps[STEPS]}
        for name, steps in sorted(shares.items())
    }
    rare = [
        f"{name}: {counts[name]}, not {least * systems / 1000:g}"
        for name, least in _LEAST.items()
        if counts[name] < int(least * systems / 1000)
    ]
    return methods, dict(sorted(counts.items())), rare


def main() -> int:
    """Run or go on, print the table of methods, write the result."""
    arguments = arguments_of(__doc__, RESULT, systems=10_000)
    if arguments.block is not None:
        print(json.dumps(asdict(run_block(arguments.block, arguments.systems))))
        return 0
    begun = time.monotonic()
    plan = Blocks(Path(__file__), 100, sources, lambda one: len(one["violations"]))
    found, crashes = plan.run(arguments.first, arguments.systems, arguments.jobs, arguments.partial)
    blocks = [Block(**one) for one in found]
    methods, met, rare = _summary(blocks, arguments.systems)
    violations = [*crashes, *(one for block in blocks for one in block.violations)]
    result = {
        "schema": "rt-sched-random-transitions/1",
        **describe_run(ROOT),
        "seconds": round(time.monotonic() - begun, 1),
        "first": arguments.first,
        "systems": arguments.systems,
        "bounds_exceeded": len(violations),
        "first_exceeded": violations[:_LISTED],
        "met_too_rarely": rare,
        "met": met,
        "methods": methods,
    }
    arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if not crashes:
        arguments.partial.unlink()
    print(f"{'method':<26}{'bounds':>9}{'attained':>9}{'median':>8}")
    for name, one in methods.items():
        print(f"{name:<26}{one['bounds']:>9}{one['attained']:>9}{one['median_tightness']:>8.2f}")
    print(f"{arguments.systems} systems: {len(violations)} bounds exceeded, {len(rare)} kinds met too rarely")
    for text in (*violations[:_LISTED], *rare):
        print(f"  {text}")
    return 1 if violations or rare else 0


if __name__ == "__main__":
    sys.exit(main())
