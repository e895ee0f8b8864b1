"""Does any response of many random systems exceed what any analysis says of it, and how near do they come?

    python benchmarks/evidence/random_analysis.py [--systems 100000] [--first SEED] [--jobs N] [--fresh]

Every system is analysed by every method that applies and run by the kernel in several legal ways, with arrivals,
releases and demands against it. Systems are looked at in blocks, each in a process of its own; finished blocks are kept
beside the result, so that a run that was interrupted goes on where it stopped, as long as no source that takes part has
changed. The exit status is 1 when a bound is exceeded or a method was met too rarely in some way: with a bound, without
one, refused, or with a worst job that is not the first of its busy period. The result goes to
benchmarks/results/random_analysis.json.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from blocks import ROOT, Blocks, arguments_of
from machine import describe_run
from shares import STEPS, Block, look, median_share, together

RESULT = ROOT / "benchmarks" / "results" / "random_analysis.json"
_TESTS = ROOT / "tests" / "analysis"
_LISTED = 50
#: Packages that bounds and runs depend on.
_PARTS = ("analysis", "kernels", "lowering", "model", "sim", "trace")
#: Least counts of each method by thousand systems.
_LEAST = {"accepted": 4.0, "refused": 0.3, "inconclusive": 1.0}
#: Least counts of worst jobs that are not the first, by thousand systems, of methods that look at several.
_LEAST_LATER = {
    "fp_response_time": 10.0,
    "edf_response_time": 15.0,
    "fifo_response_time": 1.0,
    "slice_supply": 1.0,
    "suspension_oblivious": 0.5,
    "table_entries": 0.05,
    "offset_response_time": 3.0,
}

sys.path.insert(0, str(_TESTS))


def sources() -> Iterable[Path]:
    """Every source that takes part."""
    parts = (path for part in _PARTS for path in (ROOT / "rt_sched" / part).rglob("*.py"))
    return (*parts, *_TESTS.glob("random_*.py"))


def run_block(first: int, count: int) -> Block:
    """Look at the systems [first, first + count) in this process."""
    from random_checks import check

    return look(first, count, check)


def _expected() -> list[str]:
    """Every method but those for arrival curves and task graphs, which systems do not have."""
    from rt_sched.analysis.methods import METHODS

    return [method.name for method in METHODS if "curve" not in method.name and "dag" not in method.name]


def _summary(blocks: list[Block], systems: int) -> tuple[dict[str, dict[str, float]], dict[str, int], list[str]]:
    """By method its counts and tightness; the verdicts; what was met too rarely, in words."""
    counts: Counter[str] = Counter()
    for block in blocks:
        counts.update(block.counts)
    shares = together(block.shares for block in blocks)
    kinds = ("accepted", "refused", "inconclusive", "later job")
    methods: dict[str, dict[str, float]] = {
        name: {kind.replace(" ", "_"): counts[f"{name} {kind}"] for kind in kinds}
        | {"median_tightness": median_share(steps), "attained": steps[STEPS]}
        for name, steps in sorted(shares.items())
    }
    verdicts = {name: count for name, count in sorted(counts.items()) if name.startswith("verdict")}
    wanted = {(name, kind): least for name in _expected() for kind, least in _LEAST.items()}
    wanted |= {(name, "later job"): least for name, least in _LEAST_LATER.items()}
    rare = [
        f"{name} {kind}: {counts[f'{name} {kind}']}, not {least * systems / 1000:g}"
        for (name, kind), least in wanted.items()
        if counts[f"{name} {kind}"] < int(least * systems / 1000)
    ]
    return methods, verdicts, rare


def main() -> int:
    """Run or go on, print the table of methods, write the result."""
    arguments = arguments_of(__doc__, RESULT)
    if arguments.block is not None:
        print(json.dumps(asdict(run_block(arguments.block, arguments.systems))))
        return 0
    begun = time.monotonic()
    plan = Blocks(Path(__file__), 500, sources, lambda one: len(one["violations"]))
    found, crashes = plan.run(arguments.first, arguments.systems, arguments.jobs, arguments.partial)
    blocks = [Block(**one) for one in found]
    methods, verdicts, rare = _summary(blocks, arguments.systems)
    violations = [*crashes, *(one for block in blocks for one in block.violations)]
    result = {
        "schema": "rt-sched-random-analysis/1",
        **describe_run(ROOT),
        "seconds": round(time.monotonic() - begun, 1),
        "first": arguments.first,
        "systems": arguments.systems,
        "bounds_exceeded": len(violations),
        "first_exceeded": violations[:_LISTED],
        "met_too_rarely": rare,
        "verdicts": verdicts,
        "methods": methods,
    }
    arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if not crashes:
        arguments.partial.unlink()
    print(f"{'method':<26}{'bounds':>9}{'refused':>9}{'no bound':>9}{'job > 0':>9}{'attained':>9}{'median':>8}")
    for name, one in methods.items():
        row = [one[key] for key in ("accepted", "refused", "inconclusive", "later_job", "attained")]
        print(f"{name:<26}" + "".join(f"{value:>9}" for value in row) + f"{one['median_tightness']:>8.2f}")
    print(f"{arguments.systems} systems: {len(violations)} bounds exceeded, {len(rare)} kinds met too rarely")
    for text in (*violations[:_LISTED], *rare):
        print(f"  {text}")
    return 1 if violations or rare else 0


if __name__ == "__main__":
    sys.exit(main())
