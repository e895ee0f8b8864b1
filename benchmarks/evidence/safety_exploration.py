"""Arbiter, monitors and return explored to greater depth than in the tests, and every mutant of what they decide by.

    python benchmarks/evidence/safety_exploration.py [--only TEXT] [--quick] [--jobs N] [--output FILE]

Each cell of the arbiter's table of transitions, and each comparison, logical word, sum and number of the monitors, of
the checks of an IMU, of the timers of silence and return, and of the trust in a sensor is changed, one at a time; the
exploration must object to each change. Those it cannot object to are listed as equivalent with the reason why. Exit
status 1 when an invariant is violated or a mutant survives. Results go to benchmarks/results/safety_exploration.json.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "safety"))

from arbiter_exploration import SMALL, Scope
from arbiter_exploration import explore as explore_arbiter
from equivalent_mutants import reason_of
from machine import describe_run
from source_mutants import Mutant, mutants_of
from table_mutants import differs, mutants

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "safety_exploration.json"
#: CPU time that a mutant may take; one that does not come to an end is noticed by that.
_SECONDS = 300

#: File -> the subjects that show what it does ("" for all), and its functions that are changed (none named: all).
FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    "safety/monitors/alive.py": ("alive", ()),
    "safety/monitors/delivery.py": ("", ()),
    "safety/monitors/payload.py": ("payload", ()),
    "safety/monitors/pictures.py": ("pictures", ()),
    "safety/monitors/rate.py": ("rate", ()),
    "safety/monitors/repeats.py": ("frozen", ()),
    "safety/monitors/sectors.py": ("sector", ()),
    "safety/monitors/silence.py": ("trust", ()),
    "safety/monitors/stamps.py": ("stamp", ()),
    "safety/monitors/telling.py": ("stamp", ()),
    "pipelines/imu_health.py": ("imu", ("SampleChecks",)),
    "safety/sensor_watch.py": ("trust", ()),
    "rt_sched/runtime/signs_of_life.py": ("losses", ("_sensors", "_watched")),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One mutant: what noticed it, or why nothing can."""

    mutant: str
    noticed: str | None
    equivalent: str | None


def explorations(which: str, deeper: bool, limit: int = 1) -> list[Any]:
    """The explorations of the subjects that `which` stands for; they are imported only here, after a mutation."""
    if which == "losses":
        from loss_exploration import explore_losses

        return [explore_losses(7 if deeper else 5, limit)]
    if which == "alive":
        from loss_exploration import explore_alive

        return [explore_alive(11 if deeper else 8, limit)]
    if which == "trust":
        from trust_exploration import explore_trust

        return [explore_trust(6 if deeper else 4, limit)]
    from monitor_exploration import explore
    from monitor_subjects import SUBJECTS

    subjects = SUBJECTS
    if which in ("imu", "health"):
        from sensor_subjects import sensor_subjects

        subjects = sensor_subjects()
    names = ("black", "saturated", "blurred") if which == "pictures" else (which,)
    found = []
    for subject in subjects:
        if subject.name.startswith(names):
            found.append(explore(subject, subject.deeper if deeper else subject.depth, limit))
            if found[-1].objections:
                break
    return found


def noticed_by(mutant: Mutant, is_quick: bool) -> str | None:
    """The first objection to the mutated code, in a process of its own; `is_quick`: to no more than the small depth."""
    module = importlib.import_module(mutant.file.removesuffix(".py").replace("/", "."))
    signal.signal(signal.SIGPROF, _give_up)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    try:
        exec(compile(mutant.tree, mutant.file, "exec"), module.__dict__)  # noqa: S102  # that is the mutation
        for deeper in (False,) if is_quick else (False, True):
            for result in explorations(FILES[mutant.file][0], deeper):
                if result.objections:
                    return f"{result.subject}: {result.objections[0]}"
    except Exception as error:  # whatever broken code does, it does not do what it should
        return f"{type(error).__name__}: {error}"
    return None


def _give_up(*_: object) -> None:
    raise TimeoutError(f"no end within {_SECONDS} s of CPU time")


def row_of(mutant: Mutant, is_quick: bool) -> Row:
    """Known equivalents are not run: their reasons are arguments, which no run would make better."""
    reason = reason_of(mutant)
    return Row(str(mutant), None if reason else noticed_by(mutant, is_quick), reason)


def table_rows(samples: list[Any]) -> list[Row]:
    """Every change of one cell of the table against the steps of the small exploration."""
    rows = []
    for name, table in mutants():
        found = next((broken[0] for step in samples if (broken := step.complaints(table))), None)
        reason = None if differs(table) else "it changes nothing in any situation that can be"
        rows.append(Row(name, found, None if found else reason))
    return rows


def _explored(which: str, deeper: bool) -> list[dict[str, Any]]:
    return [asdict(one) for one in explorations(which, deeper, limit=10)]


def main() -> int:
    """Explore, then mutate; 1 when anything is violated or survives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="mutants of files whose path holds this text")
    parser.add_argument("--quick", action="store_true", help="to the depth of the tests only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    begun = time.monotonic()
    chosen = [
        mutant for file, (_, only) in FILES.items() if arguments.only in file for mutant in mutants_of(ROOT, file, only)
    ]
    scope = SMALL if arguments.quick else Scope(3, 3, 3, in_full=True)
    with multiprocessing.get_context("fork").Pool(arguments.jobs, maxtasksperchild=1) as pool:
        running = [
            pool.apply_async(_explored, (which, not arguments.quick))
            for which in ("", "imu", "health", "losses", "alive", "trust")
        ]
        rows = []
        for row in pool.imap(partial(row_of, is_quick=arguments.quick), chosen, chunksize=1):
            rows.append(row)
            if row.noticed is None and row.equivalent is None:
                print(f"SURVIVED  {row.mutant}", file=sys.stderr)
        small = explore_arbiter()
        arbiter = small if scope == SMALL else explore_arbiter(scope)
        table = table_rows(small.samples)
        explored = [one for result in running for one in result.get()]
    violated = [*arbiter.violated, *(text for one in explored for text in one["objections"])]
    survived = [row.mutant for row in (*rows, *table) if row.noticed is None and row.equivalent is None]
    result = {
        "schema": "rt-sched-safety-exploration/1",
        **describe_run(ROOT),
        "depth": "as in the tests" if arguments.quick else "deeper than in the tests",
        "seconds": round(time.monotonic() - begun, 1),
        "violated": violated,
        "survived": survived,
        "arbiter": {
            "good_commands": scope.needed,
            "grace_cycles": scope.grace,
            "patience_cycles": scope.patience,
            "states": arbiter.states,
            "steps": arbiter.steps,
            "depth": arbiter.depth,
            "closed": not arbiter.violated,
        },
        "monitors": explored,
        "table_mutants": _summary(table),
        "monitor_mutants": _summary(rows),
    }
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"arbiter: {arbiter.states} states, {arbiter.steps} steps, depth {arbiter.depth}", file=sys.stderr)
    for one in explored:
        told = f"{one['states']} states, {one['steps']} steps, depth {one['depth']}"
        print(f"{one['subject']}: {told}{', closed' if one['closed'] else ''}", file=sys.stderr)
    for name in ("table_mutants", "monitor_mutants"):
        counts = {key: value for key, value in result[name].items() if key != "rows"}
        print(f"{name}: {counts}", file=sys.stderr)
    print(f"violated: {violated}; survived: {survived}", file=sys.stderr)
    return 1 if violated or survived else 0


def _summary(rows: list[Row]) -> dict[str, Any]:
    return {
        "mutants": len(rows),
        "noticed": sum(row.noticed is not None for row in rows),
        "equivalent": sum(row.noticed is None and row.equivalent is not None for row in rows),
        "rows": [asdict(row) for row in rows],
    }


if __name__ == "__main__":
    sys.exit(main())
