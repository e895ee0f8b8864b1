"""Does anything notice when a rule of the scheduling kernel is broken?

    python benchmarks/evidence/mutations.py [--systems N] [--only TEXT] [--output FILE]

Breaks the kernel in a copy, one rule at a time, and runs random systems on it, uncompiled, until the tick-by-tick
oracle and the trace checker have both objected, or for N systems. A mutation that neither notices has survived; the
exit status is then 1, as it is when they object to the sound kernel. Results go to benchmarks/results/mutations.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from machine import describe_run
from mutation import Mutation
from mutation_list import MUTATIONS

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "mutations.json"
_PROBE = Path(__file__).with_name("probe.py")


def apply(mutation: Mutation, package: Path) -> None:
    """Break the rule in a copy of the package. Raises ValueError when the text to replace does not occur once."""
    path = package / mutation.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutation.old) != 1:
        raise ValueError(f"{mutation.file}: {text.count(mutation.old)} times: {mutation.old!r} ({mutation.says})")
    path.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")


def run(mutation: Mutation, systems: int, more: int = 100) -> dict[str, object]:
    """What noticed the mutation, and on which system first; `more` systems are run after the first that did."""
    found = probe(mutation, systems, more)
    caught = found["oracle"] is not None or found["checker"] is not None
    return {"rule": mutation.rule, "breaks": mutation.says, "file": mutation.file, "caught": caught, **found}


def probe(mutation: Mutation | None, systems: int, more: int) -> dict[str, str | None]:
    """The first objections of oracle and checker to a broken copy, or to a sound one when nothing is to be broken."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "rt_sched"
        shutil.copytree(ROOT / "rt_sched", package, ignore=shutil.ignore_patterns("__pycache__"))
        if mutation is not None:
            apply(mutation, package)
        environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-W", "ignore", str(_PROBE), str(systems), str(more)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{mutation}: the probe failed:\n{done.stderr[-2000:]}")
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


def main() -> int:
    """Run the mutations; 1 when one survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=3000)
    parser.add_argument("--only", default="", help="mutations whose description holds this text")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    chosen = [mutation for mutation in MUTATIONS if arguments.only in mutation.says]
    begun = time.monotonic()
    sound = probe(None, arguments.systems, 0)
    print(f"the sound kernel: oracle {sound['oracle']}, checker {sound['checker']}", file=sys.stderr)
    rows = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(lambda one: run(one, arguments.systems), chosen):
            rows.append(row)
            print(
                f"{len(rows):>3}/{len(chosen)} rule {row['rule']:>2} {'caught  ' if row['caught'] else 'SURVIVED'} "
                f"{row['breaks']}: oracle {row['oracle']}, checker {row['checker']}",
                file=sys.stderr,
            )
    survived = [row["breaks"] for row in rows if not row["caught"]]
    result = {
        "schema": "rt-sched-mutations/1",
        **describe_run(ROOT),
        "seconds": round(time.monotonic() - begun, 1),
        "mutations": len(rows),
        "caught": len(rows) - len(survived),
        "caught_by_oracle": sum(row["oracle"] is not None for row in rows),
        "caught_by_checker": sum(row["checker"] is not None for row in rows),
        "survived": survived,
        "objections_to_the_sound_kernel": sound,
        "rows": rows,
    }
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{len(rows) - len(survived)} of {len(rows)} mutations caught; survived: {survived}", file=sys.stderr)
    return 1 if survived or any(sound.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
