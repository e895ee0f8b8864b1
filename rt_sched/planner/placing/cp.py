"""Placement by constraint programming (CP-SAT): the best one, or the best so far with a bound on what is possible.

OR-Tools is loaded when a model is solved, not before.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rt_sched.planner.placing.frame_model import FrameModel, Goal
from rt_sched.planner.placing.heft import packed
from rt_sched.planner.placing.problem import WHOLE_CORE, FrameSchedule, PlacementProblem
from rt_sched.planner.placing.stopping import Stop


class Status(str, Enum):
    """`optimal` and `infeasible` are proved; `feasible` has a gap; `unknown`: nothing was found in the time."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Solved:
    """`place`: [n_tasks], empty where there is none. `value`, `bound`: of the goal, in ns where it looks at times; no
    placement is better than the bound. `schedule`: of one frame, where the goal looks at times.
    """

    status: Status
    place: tuple[int, ...] = ()
    schedule: FrameSchedule | None = None
    value: int = 0
    bound: int = 0

    @property
    def gap(self) -> float:
        """How far the value may be above what is possible, as a share of it."""
        return (self.value - self.bound) / self.value if self.value else 0.0


def load_solver() -> None:
    """Loads OR-Tools, which takes a second, so that no search has to wait for it."""
    import ortools.sat.python.cp_model  # noqa: F401


def solve(
    problem: PlacementProblem,
    goal: Goal,
    stop: Stop,
    *,
    limit: int = WHOLE_CORE,
    known: FrameSchedule | None = None,
    workers: int | None = None,
) -> Solved:
    """The best placement for `goal` in the time that `stop` leaves.

    Each core carries at most `limit` millionths, so that an element with n cores carries n times as much; memory and
    the ways of messages are kept. `known`: a schedule that keeps all this, to look at first; where a goal looks at
    times, nothing worse is returned.
    """
    from ortools.sat.python import cp_model

    frame = FrameModel(problem, goal, limit)
    if not frame.possible:
        return Solved(Status.INFEASIBLE)
    if known is not None:
        frame.hint(known)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(0.01, stop.left_s)
    solver.parameters.num_workers = workers or min(8, os.cpu_count() or 1)
    solver.parameters.catch_sigint_signal = False
    found: list[Any] = []
    with stop.ending(solver.stop_search):
        stop.run(lambda: found.append(solver.solve(frame.model)))
    if found[0] == cp_model.INFEASIBLE:
        return Solved(Status.INFEASIBLE)
    bound = max(0, math.ceil(solver.best_objective_bound - 1e-6)) * frame.unit_ns
    best = None
    if found[0] in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        place, starts = frame.read(solver)
        status = Status.OPTIMAL if found[0] == cp_model.OPTIMAL else Status.FEASIBLE
        value = round(solver.objective_value) * frame.unit_ns
        best = Solved(status, place, packed(problem, place, starts) if starts else None, value, bound)
    if known is not None and goal in (Goal.MAKESPAN, Goal.ENDS):
        value = known.makespan_ns if goal is Goal.MAKESPAN else sum(w * known.end_ns[task] for task, w in problem.ends)
        if best is None or value < best.value:
            return Solved(Status.FEASIBLE, known.place, known, value, min(bound, value))
    return best or Solved(Status.UNKNOWN)
