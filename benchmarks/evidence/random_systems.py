"""Does the kernel agree with the tick-by-tick oracle on many random systems, and is the trace checker silent?

    python benchmarks/evidence/random_systems.py [--systems 100000] [--jobs N] [--fresh]

Every system is simulated in bulk and stepped and compared with the oracle in every column of every table. Systems are
run in blocks, each in a process of its own; finished blocks are kept beside the result, so that a run that was
interrupted goes on where it stopped, as long as no source has changed. The exit status is 1 when anything disagrees or
a feature was met too rarely. The result goes to benchmarks/results/random_systems.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

from machine import describe_run

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "benchmarks" / "results" / "random_systems.json"
_TESTS = ROOT / "tests" / "kernel"
_BLOCK = 1000
_LISTED = 50

sys.path.insert(0, str(_TESTS))


def sources_digest() -> str:
    """Changes with any source that takes part in the comparison."""
    digest = hashlib.sha256()
    for path in sorted((*(ROOT / "rt_sched").rglob("*.py"), *_TESTS.rglob("*.py"))):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


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

    from rt_sched.trace.checker import check_trace

    met: Counter[str] = Counter()
    disagreements, violations, jobs = [], [], 0
    for seed in range(first, first + count):
        given = random_system(seed, ALL_FEATURES)
        found = disagreement(given, met)
        if found is not None:
            disagreements.append(f"system {seed}: {found}")
        trace = bulk(given)
        jobs += len(trace.jobs)
        violations += [f"system {seed}: {violation}" for violation in check_trace(trace).violations[:1]]
    return Block(first, count, jobs, disagreements, violations, dict(met))


def _in_own_process(first: int, count: int) -> Block:
    """The same in a process of its own, so that a crash is a result."""
    command = [sys.executable, str(Path(__file__)), "--block", str(first), "--systems", str(count)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
        crash = f"systems {first} to {first + count - 1}: the process ended with {done.returncode}: {last}"
        return Block(first, count, 0, [crash], [], {})
    return Block(**json.loads(done.stdout))


def _finished_blocks(partial: Path, digest: str) -> dict[int, Block]:
    """Blocks of an interrupted run on the same sources, by first system."""
    if not partial.exists():
        return {}
    lines = [json.loads(line) for line in partial.read_text(encoding="utf-8").splitlines()]
    blocks = [Block(**line["block"]) for line in lines if line["sources"] == digest]
    return {block.first: block for block in blocks}


def run(systems: int, jobs: int, partial: Path) -> list[Block]:
    """All blocks, those that are kept from before included."""
    digest = sources_digest()
    blocks = _finished_blocks(partial, digest)
    firsts = range(0, systems, _BLOCK)
    kept = [first for first in firsts if first in blocks]
    if kept:
        print(f"{len(kept)} blocks are kept from an interrupted run", file=sys.stderr)
    begun = time.monotonic()
    partial.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool, partial.open("a", encoding="utf-8") as kept_blocks:
        waiting = [
            pool.submit(_in_own_process, first, min(_BLOCK, systems - first)) for first in firsts if first not in blocks
        ]
        for number, future in enumerate(as_completed(waiting), 1):
            block = future.result()
            blocks[block.first] = block
            kept_blocks.write(json.dumps({"sources": digest, "block": asdict(block)}) + "\n")
            kept_blocks.flush()
            failed = sum(len(one.disagreements) + len(one.violations) for one in blocks.values())
            left_s = (time.monotonic() - begun) / number * (len(waiting) - number)
            done = sum(one.count for one in blocks.values())
            print(f"{done}/{systems} systems, {failed} objections, {left_s / 60:.0f} min left", file=sys.stderr)
    return [blocks[first] for first in firsts]


def main() -> int:
    """Run or go on, print the table of features, write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--fresh", action="store_true", help="forget an interrupted run")
    parser.add_argument("--output", type=Path, default=RESULT)
    parser.add_argument("--block", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.block is not None:
        print(json.dumps(asdict(run_block(arguments.block, arguments.systems))))
        return 0
    from features_met import as_table, lacking, shares

    partial = arguments.output.with_suffix(".partial.jsonl")
    if arguments.fresh:
        partial.unlink(missing_ok=True)
    begun = time.monotonic()
    blocks = run(arguments.systems, arguments.jobs, partial)
    met: Counter[str] = Counter()
    for block in blocks:
        met.update(block.met)
    disagreements = [one for block in blocks for one in block.disagreements]
    violations = [one for block in blocks for one in block.violations]
    missed = lacking(met, arguments.systems)
    least = shares(arguments.systems)
    result = {
        "schema": "rt-sched-random-systems/1",
        **describe_run(ROOT),
        "seconds": round(time.monotonic() - begun, 1),
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
    partial.unlink()
    print(as_table(met, arguments.systems))
    print(
        f"{arguments.systems} systems: {len(disagreements)} disagreements with the oracle, {len(violations)} with "
        f"objections of the trace checker, {len(missed)} features met too rarely"
    )
    return 1 if disagreements or violations or missed else 0


if __name__ == "__main__":
    sys.exit(main())
