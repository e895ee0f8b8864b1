"""How near do simulated responses come to their bounds, against the load?

    python benchmarks/studies/tightness.py [--sets N] [--seed N] [--plots FOLDER]

Ten tasks on one core, periods of 10 to 200 ms, every job as long as its wcet. Each set that the analysis accepts runs
20 s with all first arrivals at the same instant, and as long with each of 20 drawn ones. Of each task: the largest
response of these runs as a share of its bound; shown is the mean over tasks and sets.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from drawn_sets import DrawnSet, S, draw_set, machine_of, spent, study, tell

from rt_sched.analysis.batch import BatchResult, edf_response_times, fp_response_times
from rt_sched.sim.bulk import BulkSimulation
from rt_sched.sim.bulk_tables import Questions
from rt_sched.sim.sample_feeds import GivenSamples

TASKS, HORIZON_NS, PHASINGS = 10, 20 * S, 20
LOADS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
METHODS: dict[str, Callable[[DrawnSet], BatchResult]] = {
    "FP": lambda one: fp_response_times([one.wcet_ns], [one.period_ns], [one.deadline_ns]),
    "FP, not preemptive": lambda one: fp_response_times(
        [one.wcet_ns], [one.period_ns], [one.deadline_ns], preemptive=False
    ),
    "EDF": lambda one: edf_response_times([one.wcet_ns], [one.period_ns], [one.deadline_ns]),
}


def largest_ns(drawn: DrawnSet, policy: str, phasings: list[list[int]]) -> np.ndarray:
    """Per task the largest response over runs with these first arrivals."""
    largest = np.zeros(len(drawn.wcet_ns), np.int64)
    for number, offsets_ns in enumerate(phasings):
        given = machine_of(drawn, policy, offsets_ns, HORIZON_NS)
        simulation = BulkSimulation(given, Questions())
        simulation.run(0, number, GivenSamples(given))
        largest = np.maximum(largest, simulation.bulk.spreads["max_ns"][: len(largest)])
    return largest


def main() -> None:
    """Simulate, print, draw."""
    arguments = study(__doc__ or "", sets=10)
    found: dict[str, dict[float, float]] = {}
    for policy, method in METHODS.items():
        for load in LOADS:
            shares: dict[str, list[float]] = {"same": [], "drawn": []}
            for number in range(arguments.sets):
                rng = np.random.default_rng([arguments.seed, number])
                drawn = draw_set(rng, TASKS, load)
                drawn_ns = [[int(rng.integers(period)) for period in drawn.period_ns] for _ in range(PHASINGS)]
                result = method(drawn)
                if not result.schedulable.all():
                    continue
                for kind, phasings in (("same", [[0] * TASKS]), ("drawn", drawn_ns)):
                    seen = largest_ns(drawn, policy, phasings) / result.response_ns[0]
                    if (seen > 1).any():
                        raise SystemExit(f"{policy}, load {load}, set {number}: a response is above its bound")
                    shares[kind] += seen.tolist()
            for kind, values in shares.items():
                if values:
                    found.setdefault(f"{policy}, {kind}", {})[load] = float(np.mean(values))
    place = arguments.plots and arguments.plots / "study-tightness.svg"
    tell("How near simulations come to bounds", "load", "largest response / bound", found, place, digits=2)
    spent()


if __name__ == "__main__":
    main()
