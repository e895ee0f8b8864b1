"""Does the kernel agree with the tick-by-tick oracle on many random systems, and is the trace checker silent?

    python benchmarks/evidence/random_systems.py [--systems 100000] [--first SEED] [--jobs N] [--fresh]

Every system is simulated in bulk and stepped and compared with the oracle in every column of every table. In every
fourth one tasks change and lost things return. Systems are run in blocks, each in a process of its own; finished blocks
are kept beside the result, so that a run that was interrupted goes on where it stopped, as long as no source has
changed. The exit status is 1 when anything disagrees or a feature was met too rarely. The result goes to
benchmarks/results/random_systems.json.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from blocks import ROOT, Blocks, arguments_of
from machine import describe_run

RESULT = ROOT / "benchmarks" / "results" / "random_systems.json"
_TESTS = ROOT / "tests" / "kernel"
_LISTED = 50

sys.path.insert(0, str(_TESTS))


def sources() -> Iterable[Path]:
    """Every source that takes part in the comparison."""
    return (*(ROOT / "rt_sched").rglob("*.py"), *_TESTS.rglob("*.py"))


@dataclass(frozen=True)
class Block:
    """What comparing the systems [first, first + count) found."""

    first: int
    count: int
    jobs: int
    disagreements: list[str]
    violations: list[str]
    met: dict[str, int]


def run_block(first: int, count: int) -> Block:
    """Compare the systems [first, first + count) in this process."""
    from agreement import bulk, disagreement
    from kernel_systems import ALL_FEATURES, random_system
    from takeover_systems import takeover_system

    from rt_sched.trace.checker import check_trace

    met: Counter[str] = Counter()
    disagreements, violations, jobs = [], [], 0
    for seed in range(first, first + count):
        given = takeover_system(seed) if seed % 4 == 3 else random_system(seed, ALL_FEATURES)
        found = disagreement(given, met)
        if found is not None:
            disagreements.append(f"system {seed}: {found}")
        trace = bulk(given)
        jobs += len(trace.jobs)
        violations += [f"system {seed}: {violation}" for violation in check_trace(trace).violations[:1]]
    return Block(first, count, jobs, disagreements, violations, dict(met))


def main() -> int:
    """Run or go on, print the table of features, write the result."""
    arguments = arguments_of(__doc__, RESULT)
    if arguments.block is not None:
        print(json.dumps(asdict(run_block(arguments.block, arguments.systems))))
        return 0
    from features_met import LEAST_PER_1000_TAKEOVERS, as_table, lacking, shares

    begun = time.monotonic()
    plan = Blocks(Path(__file__), 1000, sources, lambda one: len(one["disagreements"]) + len(one["violations"]))
    found, crashes = plan.run(arguments.first, arguments.systems, arguments.jobs, arguments.partial)
    blocks = [Block(**one) for one in found]
    met: Counter[str] = Counter()
    for block in blocks:
        met.update(block.met)
    disagreements = [*crashes, *(one for block in blocks for one in block.disagreements)]
    violations = [one for block in blocks for one in block.violations]
    takeovers = arguments.systems // 4
    missed = lacking(met, arguments.systems) | lacking(met, takeovers, LEAST_PER_1000_TAKEOVERS)
    least = shares(arguments.systems) | shares(takeovers, LEAST_PER_1000_TAKEOVERS)
    result = {
        "schema": "rt-sched-random-systems/1",
        **describe_run(ROOT),
        "seconds": round(time.monotonic() - begun, 1),
        "first": arguments.first,
        "systems": arguments.systems,
        "jobs": sum(block.jobs for block in blocks),
        "disagreements": len(disagreements),
        "checker_violations": len(violations),
        "first_disagreements": disagreements[:_LISTED],
        "first_violations": violations[:_LISTED],
        "met_too_rarely": missed,
        "met": {name: {"count": met[name], "least": least[name]} for name in least},
    }
    arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if not crashes:
        arguments.partial.unlink()
    print(as_table(met, arguments.systems))
    print(as_table(met, takeovers, LEAST_PER_1000_TAKEOVERS))
    print(
        f"{arguments.systems} systems: {len(disagreements)} disagreements with the oracle, {len(violations)} with "
        f"objections of the trace checker, {len(missed)} features met too rarely"
    )
    return 1 if disagreements or violations or missed else 0


if __name__ == "__main__":
    sys.exit(main())
