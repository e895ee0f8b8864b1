"""CP-SAT: the table with the least latency, proved where time allows it (Perron, Furnon: OR-Tools)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rt_sched.planner.tables.problem import TableProblem
from rt_sched.units import NS_PER_S

#: Starts lie in this many cycles after the latest release.
_CYCLES = 3
#: Of the time limit, what is kept for making all jobs early once the latency is as good as it gets.
_SECOND_STAGE = Fraction(1, 4)


@dataclass(frozen=True, slots=True)
class Solved:
    """`starts`: of all jobs, None when none were found. `bound_ns`: no table has less latency.

    `infeasible`: it is proved that no table exists.
    """

    starts: tuple[int, ...] | None
    bound_ns: int
    infeasible: bool = False


def cp_schedule(problem: TableProblem, time_limit_ns: int, hint: Sequence[int] | None = None) -> Solved:
    """Least largest latency first; then, with that kept, all jobs as early as may be. `hint`: starts of a legal table.

    One worker, so that equal calls that end before the limit give equal tables.
    """
    from ortools.sat.python import cp_model

    model, starts, latency = _model(problem, cp_model)
    if hint is not None:
        for variable, value in zip(starts, hint, strict=True):
            model.add_hint(variable, value)
        model.add(latency <= problem.latency_ns(hint))
    model.minimize(latency)
    solver = _solver(cp_model, time_limit_ns * (1 - _SECOND_STAGE))
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return Solved(None, 0, infeasible=True)
    bound_ns = max(0, round(solver.best_objective_bound)) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else 0
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Solved(None, bound_ns)
    found = tuple(solver.value(variable) for variable in starts)
    least_ns = problem.latency_ns(found)
    model.add(latency <= least_ns)
    model.clear_hints()
    for variable, value in zip(starts, found, strict=True):
        model.add_hint(variable, value)
    model.minimize(sum(starts))
    second = _solver(cp_model, time_limit_ns * _SECOND_STAGE)
    if second.solve(model) in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        found = tuple(second.value(variable) for variable in starts)
    return Solved(found, min(bound_ns, least_ns))


def _solver(cp_model: Any, time_limit_ns: Fraction) -> Any:
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = float(time_limit_ns / NS_PER_S)
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    return solver


def _model(problem: TableProblem, cp_model: Any) -> tuple[Any, list[Any], Any]:
    """The constraints, the start of every job, and a variable that is at least every job's latency."""
    model = cp_model.CpModel()
    cycle_ns = problem.cycle_ns
    end_ns = max((job.earliest_ns for job in problem.jobs), default=0) + _CYCLES * cycle_ns
    starts = []
    intervals: list[list[Any]] = [[] for _ in problem.lanes]
    latency = model.new_int_var(0, end_ns + max((job.length_ns for job in problem.jobs), default=0), "latency")
    for number, job in enumerate(problem.jobs):
        start = model.new_int_var(job.earliest_ns, max(job.earliest_ns, end_ns), f"start{number}")
        place = model.new_int_var(0, cycle_ns - job.length_ns, f"place{number}")
        cycle = model.new_int_var(0, end_ns // cycle_ns + 1, f"cycle{number}")
        model.add(start == place + cycle_ns * cycle)
        model.add(latency >= start + (job.length_ns - job.origin_ns))
        intervals[job.lane].append(model.new_fixed_size_interval_var(place, job.length_ns, f"entry{number}"))
        starts.append(start)
    for lane in intervals:
        model.add_no_overlap(lane)
    for lag in problem.lags:
        model.add(starts[lag.after] >= starts[lag.before] + lag.ns)
    for number, limit in enumerate(problem.limits):
        terms = [ns if job is None else starts[job] + ns for job, ns in limit.terms]
        if len(terms) == 1:
            model.add(starts[limit.job] <= terms[0])
            continue
        largest = model.new_int_var(-end_ns - 2 * cycle_ns, 2 * end_ns + 2 * cycle_ns, f"limit{number}")
        model.add_max_equality(largest, terms)
        model.add(starts[limit.job] <= largest)
    return model, starts, latency
