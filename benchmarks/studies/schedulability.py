"""How many random task sets does each test accept, against the load? On one core and on four.

    python benchmarks/studies/schedulability.py [--sets N] [--seed N] [--plots FOLDER]

Ten tasks on one core; twelve on four, where a tenth of the sets is drawn. Periods of 10 to 200 ms. Every test sees the
same sets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from drawn_sets import DrawnSet, draw_set, spent, study, tell

from rt_sched.analysis.batch import edf_schedulable, fp_response_times
from rt_sched.analysis.theory.fixed_points import Timing
from rt_sched.analysis.theory.global_tests import global_edf_response_times, global_fp_response_times
from rt_sched.analysis.theory.utilisation import hyperbolic, liu_layland

Accepted = Callable[[Sequence[DrawnSet]], list[bool]]
TASKS, TASKS_ON_FOUR, CORES = 10, 12, 4


def columns(sets: Sequence[DrawnSet]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """wcet, period and deadline of all sets, in each by deadline, int64[n_sets, n_tasks]."""
    order = [np.argsort(one.deadline_ns, kind="stable") for one in sets]
    kinds = ("wcet_ns", "period_ns", "deadline_ns")
    wcet, period, deadline = (
        np.array([getattr(one, kind)[by] for one, by in zip(sets, order, strict=True)]) for kind in kinds
    )
    return wcet, period, deadline


def timings(one: DrawnSet) -> list[Timing]:
    """The tasks by deadline."""
    order = np.argsort(one.deadline_ns, kind="stable").tolist()
    return [Timing(int(one.wcet_ns[t]), int(one.period_ns[t]), int(one.deadline_ns[t])) for t in order]


def fixed_priorities(sets: Sequence[DrawnSet], *, preemptive: bool = True) -> list[bool]:
    """Response time analysis."""
    return fp_response_times(*columns(sets), preemptive=preemptive).schedulable.all(axis=1).tolist()


def edf(sets: Sequence[DrawnSet], *, preemptive: bool = True) -> list[bool]:
    """Processor demand."""
    return edf_schedulable(*columns(sets), preemptive=preemptive).schedulable.tolist()


def partitioned(sets: Sequence[DrawnSet]) -> list[bool]:
    """First fit by falling load, each core by response time analysis."""
    return [_first_fit(one) for one in sets]


def _first_fit(one: DrawnSet) -> bool:
    cores: list[list[int]] = [[] for _ in range(CORES)]
    for task in np.argsort(-(one.wcet_ns / one.period_ns), kind="stable").tolist():
        for placed in cores:
            rows = sorted([*placed, task])
            some = DrawnSet(one.wcet_ns[rows], one.period_ns[rows], one.deadline_ns[rows])
            if some.load <= 1 and fixed_priorities([some])[0]:
                placed.append(task)
                break
        else:
            return False
    return True


ON_ONE: dict[str, Accepted] = {
    "Liu and Layland": lambda sets: [liu_layland(timings(one)) for one in sets],
    "hyperbolic": lambda sets: [hyperbolic(timings(one)) for one in sets],
    "RTA, fixed pr.": fixed_priorities,
    "RTA, not preemptive": lambda sets: fixed_priorities(sets, preemptive=False),
    "EDF": edf,
    "EDF, not preemptive": lambda sets: edf(sets, preemptive=False),
}
CONSTRAINED: dict[str, Accepted] = {
    name: ON_ONE[name] for name in ("RTA, fixed pr.", "RTA, not preemptive", "EDF", "EDF, not preemptive")
}
ON_FOUR: dict[str, Accepted] = {
    "partitioned, RTA": partitioned,
    "global, fixed pr.": lambda sets: [None not in global_fp_response_times(timings(one), CORES) for one in sets],
    "global, EDF": lambda sets: [None not in global_edf_response_times(timings(one), CORES) for one in sets],
}


def ratios(
    tests: dict[str, Accepted], loads: Sequence[float], sets: int, seed: int, **kind: object
) -> dict[str, dict[float, float]]:
    """Per test, the share of the sets that it accepts at each load (of one core)."""
    found: dict[str, dict[float, float]] = {name: {} for name in tests}
    for load in loads:
        rng = np.random.default_rng([seed, round(load * 1000)])
        drawn = [draw_set(rng, **kind, load=load * (CORES if tests is ON_FOUR else 1)) for _ in range(sets)]
        for name, accepts in tests.items():
            found[name][load] = sum(accepts(drawn)) / sets
    return found


def main() -> None:
    """Count, print, draw."""
    arguments = study(__doc__ or "", sets=300)
    loads = [round(0.4 + 0.05 * step, 2) for step in range(13)]
    for file, title, tests, sets, kind in (
        ("implicit", "One core, deadlines = periods", ON_ONE, arguments.sets, {"tasks": TASKS}),
        (
            "constrained",
            "One core, deadlines of 0.5 to 1 periods",
            CONSTRAINED,
            arguments.sets,
            {"tasks": TASKS, "deadlines": (0.5, 1.0)},
        ),
        ("four-cores", "Four cores, deadlines = periods", ON_FOUR, arguments.sets // 10, {"tasks": TASKS_ON_FOUR}),
    ):
        found = ratios(tests, loads, max(sets, 1), arguments.seed, **kind)
        place = arguments.plots and arguments.plots / f"study-schedulable-{file}.svg"
        tell(title, "load of a core", "share of sets accepted", found, place, digits=2)
    spent()


if __name__ == "__main__":
    main()
