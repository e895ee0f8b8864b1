"""Random problems of tables, and the least latency of small ones by trying every start."""

from __future__ import annotations

from hypothesis import strategies as st

from rt_sched.planner.tables.problem import Lag, Limit, TableJob, TableProblem, violations


@st.composite
def problems(draw: st.DrawFn, most_jobs: int = 4, longest_cycle: int = 9) -> TableProblem:
    """Few short jobs on one or two cores; some have a release, a deadline or come after others."""
    cycle = draw(st.integers(4, longest_cycle))
    lanes = draw(st.integers(1, 2))
    jobs, lags, limits = [], [], []
    for number in range(draw(st.integers(1, most_jobs))):
        length = draw(st.integers(1, 3))
        release = draw(st.integers(0, cycle))
        jobs.append(
            TableJob(f"t{number}", 0, draw(st.integers(0, lanes - 1)), length, release, draw(st.integers(0, release)))
        )
        for before in range(number):
            if draw(st.integers(0, 2)) == 0:
                lags.append(Lag(before, number, jobs[before].length_ns + draw(st.integers(0, 2))))
                if draw(st.integers(0, 2)) == 0:
                    window = draw(st.integers(jobs[before].length_ns, cycle))
                    limits.append(Limit(number, ((before, window),), "soon after what comes before"))
        if draw(st.booleans()):
            limits.append(Limit(number, ((None, release + draw(st.integers(0, cycle))),), "its deadline"))
    return TableProblem(cycle, tuple(f"core{lane}" for lane in range(lanes)), tuple(jobs), tuple(lags), tuple(limits))


def least_latency(problem: TableProblem, most: int) -> int | None:
    """The least latency up to `most` with which some table is legal; None when there is none."""
    for latency in range(most + 1):
        if _some_table(problem, latency, []):
            return latency
    return None


def _some_table(problem: TableProblem, latency: int, starts: list[int]) -> bool:
    """Whether starts of the jobs that have none yet can be found; those before are legal among each other."""
    number = len(starts)
    if number == len(problem.jobs):
        return not violations(problem, starts)
    job = problem.jobs[number]
    for start in range(job.earliest_ns, latency + job.origin_ns - job.length_ns + 1):
        late = any(
            start < starts[lag.before] + lag.ns for lag in problem.lags if lag.after == number and lag.before < number
        )
        if not late and not _hits(problem, starts, start) and _some_table(problem, latency, [*starts, start]):
            return True
    return False


def _hits(problem: TableProblem, starts: list[int], start: int) -> bool:
    """Whether the next job at `start` shares a nanosecond of the cycle with another on its core, or crosses its end."""
    job = problem.jobs[len(starts)]
    place = start % problem.cycle_ns
    if place + job.length_ns > problem.cycle_ns:
        return True
    mine = set(range(place, place + job.length_ns))
    return any(
        mine & set(range(at % problem.cycle_ns, at % problem.cycle_ns + other.length_ns))
        for at, other in zip(starts, problem.jobs, strict=False)
        if other.lane == job.lane
    )
