"""How many deadlines does each policy miss, against the load? Below, at and above what one core can do.

    python benchmarks/studies/misses.py [--sets N] [--seed N] [--plots FOLDER]

Ten tasks on one core, periods of 10 to 200 ms, deadlines at their ends, every job as long as its wcet, first arrivals
drawn; 20 s of each set by the scheduling kernel. Once late jobs go on, once they are aborted at their deadline.
"""

from __future__ import annotations

import numpy as np
from drawn_sets import POLICIES, S, draw_set, machine_of, spent, study, tell

from rt_sched.lowering.machine_input import DeadlineAction
from rt_sched.sim.bulk import BulkSimulation
from rt_sched.sim.bulk_tables import Questions
from rt_sched.sim.sample_feeds import GivenSamples

TASKS, HORIZON_NS = 10, 20 * S
LOADS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3)
CASES = {
    "late": ("Late jobs go on", DeadlineAction.CONTINUE),
    "aborted": ("Late jobs are aborted at their deadline", DeadlineAction.ABORT),
}


def miss_ratio(policy: str, action: DeadlineAction, load: float, sets: int, seed: int) -> float:
    """Deadlines missed, as a share of all jobs of all sets."""
    missed = jobs = 0
    for number in range(sets):
        rng = np.random.default_rng([seed, number])
        drawn = draw_set(rng, TASKS, load)
        offsets_ns = [int(rng.integers(period)) for period in drawn.period_ns]
        given = machine_of(drawn, policy, offsets_ns, HORIZON_NS, action=action)
        simulation = BulkSimulation(given, Questions())
        simulation.run(0, number, GivenSamples(given))
        tallies = simulation.bulk.tallies
        missed += int(tallies["misses"].sum())
        jobs += sum(int(tallies[outcome].sum()) for outcome in ("completed", "unfinished", "aborted"))
    return missed / jobs


def main() -> None:
    """Simulate, print, draw."""
    arguments = study(__doc__ or "", sets=20)
    for name, (title, action) in CASES.items():
        found = {
            policy: {load: miss_ratio(policy, action, load, arguments.sets, arguments.seed) for load in LOADS}
            for policy in POLICIES
        }
        place = arguments.plots and arguments.plots / f"study-misses-{name}.svg"
        tell(title, "load", "share of deadlines missed", found, place)
    spent()


if __name__ == "__main__":
    main()
