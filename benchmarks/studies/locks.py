"""What do inheritance and ceiling cost an urgent task, against the length of the critical sections of others?

    python benchmarks/studies/locks.py [--sets N] [--seed N] [--plots FOLDER]

Six tasks under fixed priorities. The most urgent one needs the resources a and b, one after the other, for 0.2 ms each;
the two least urgent ones hold a and b for the given length. The three between need neither. Each length runs 20 s with
each of `--sets` drawn first arrivals; the largest response of the most urgent task stands beside its bound.
"""

from __future__ import annotations

import numpy as np
from drawn_sets import MS, US, DrawnSet, S, machine_of, spent, study, tell

from rt_sched.analysis.batch import fp_response_times
from rt_sched.analysis.theory.blocking import Section, ceiling_blocking_ns, inheritance_blocking_ns
from rt_sched.lowering.machine_input import MachineInput, Protocol, ResourceRow, SectionRow
from rt_sched.sim import Simulation

HORIZON_NS = 20 * S
LENGTHS_MS = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0)
SHORT_NS = 200 * US
TASKS = DrawnSet(
    np.array([2, 3, 5, 8, 10, 10]) * MS,
    np.array([20, 31, 47, 83, 101, 127]) * MS,
    np.array([20, 31, 47, 83, 101, 127]) * MS,
)
PROTOCOLS = {
    "no protocol": Protocol.NONE,
    "inheritance": Protocol.PRIORITY_INHERITANCE,
    "ceiling": Protocol.PRIORITY_CEILING,
}


def system(protocol: Protocol, length_ns: int, offsets_ns: list[int]) -> MachineInput:
    """The six tasks."""
    urgent = (SectionRow(0, 400 * US, 400 * US + SHORT_NS), SectionRow(1, 1200 * US, 1200 * US + SHORT_NS))
    holders = [(SectionRow(resource, 1 * MS, 1 * MS + length_ns),) for resource in (0, 1)]
    resources = [ResourceRow(name, protocol) for name in ("a", "b")]
    sections = [urgent, (), (), (), *holders]
    return machine_of(TASKS, "FP", offsets_ns, HORIZON_NS, resources=resources, sections=sections)


def seen(protocol: Protocol, length_ns: int, runs: int, seed: int) -> tuple[int, float]:
    """The largest response of the most urgent task, and how many pieces a job of all tasks has in the mean."""
    largest = pieces = jobs = 0
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        offsets_ns = [int(rng.integers(period)) for period in TASKS.period_ns]
        simulation = Simulation(system(protocol, length_ns, offsets_ns), rows=8192)
        simulation.run()
        trace = simulation.trace()
        done = (trace.jobs.task == 0) & (trace.jobs.finish_ns >= 0)
        largest = max(largest, int((trace.jobs.finish_ns - trace.jobs.arrival_ns)[done].max()))
        pieces, jobs = pieces + len(trace.slices), jobs + len(trace.jobs)
    return largest, pieces / jobs


def bounds_ms(length_ns: int) -> dict[str, float]:
    """Of the response of the most urgent task, by protocol; without one there is none."""
    sections = [
        [Section(0, SHORT_NS), Section(1, SHORT_NS)],
        [],
        [],
        [],
        [Section(0, length_ns)],
        [Section(1, length_ns)],
    ]
    found = {}
    for name, blocking in (("inheritance", inheritance_blocking_ns), ("ceiling", ceiling_blocking_ns)):
        result = fp_response_times(
            [TASKS.wcet_ns], [TASKS.period_ns], [TASKS.deadline_ns], blocking_ns=[blocking(sections)]
        )
        found[name] = int(result.response_ns[0, 0]) / MS
    return found


def main() -> None:
    """Simulate, print, draw."""
    arguments = study(__doc__ or "", sets=20)
    responses: dict[str, dict[float, float]] = {}
    pieces: dict[str, dict[float, float]] = {name: {} for name in PROTOCOLS}
    for length_ms in LENGTHS_MS:
        bounds = bounds_ms(int(length_ms * MS))
        for name, protocol in PROTOCOLS.items():
            largest, mean = seen(protocol, int(length_ms * MS), arguments.sets, arguments.seed)
            if name in bounds and largest / MS > bounds[name]:
                raise SystemExit(f"{name}, sections of {length_ms} ms: a response is above its bound")
            responses.setdefault(f"{name}, simulated", {})[length_ms] = largest / MS
            pieces[name][length_ms] = mean
        for name, bound_ms in bounds.items():
            responses.setdefault(f"{name}, bound", {})[length_ms] = bound_ms
    folder = arguments.plots
    label = "length of the sections, ms"
    place = folder and folder / "study-locks-response.svg"
    tell("Response of the most urgent task", label, "largest response, ms", responses, place, digits=1)
    tell("Pieces in which jobs execute", label, "pieces a job", pieces, folder and folder / "study-locks-pieces.svg")
    spent()


if __name__ == "__main__":
    main()
