"""The model of a placement problem for CP-SAT."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from rt_sched.planner.placing.problem import WHOLE_CORE, FrameSchedule, PlacementProblem

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

#: Time in a model is counted in so many steps at most: finer ones slow the solver down and change no placement.
_MOST_STEPS = 200_000


class Goal(str, Enum):
    """What a placement is to minimise.

    `makespan`: the end of the last job of one frame. `ends`: the weighted sum of the ends of chains in one frame.
    `peak`: the highest load of a place, by core. `power`: mean power in use.
    """

    MAKESPAN = "makespan"
    ENDS = "ends"
    PEAK = "peak"
    POWER = "power"


class FrameModel:
    """The model: which place each task has and, for goals in time, when the one job of each begins."""

    def __init__(self, problem: PlacementProblem, goal: Goal, limit: int) -> None:
        from ortools.sat.python import cp_model

        self._problem = problem
        self.model: cp_model.CpModel = cp_model.CpModel()
        tasks = range(len(problem.tasks))
        self.possible = all(problem.open_places[task] for task in tasks)
        self._on = {(task, place): self.model.new_bool_var("") for task in tasks for place in problem.open_places[task]}
        self._starts: list[cp_model.IntVar] = []
        self.unit_ns = 1
        if not self.possible:
            return
        for task in tasks:
            self.model.add_exactly_one(self._on[task, place] for place in problem.open_places[task])
        self._in_group = [self._groups_of(task) for task in tasks]
        for bundle in problem.together:
            for task in bundle[1:]:
                for place in range(len(problem.places)):
                    self.model.add(self._at(bundle[0], place) == self._at(task, place))
        self._limit_loads(limit)
        self._limit_memory()
        self._connect()
        if goal in (Goal.MAKESPAN, Goal.ENDS):
            self._add_times(goal)
        else:
            self.model.minimize(self._peak() if goal is Goal.PEAK else self._power())

    def hint(self, known: FrameSchedule) -> None:
        """A schedule that the solver looks at first."""
        for task, wanted in enumerate(known.place):
            for open_place in self._problem.open_places[task]:
                self.model.add_hint(self._on[task, open_place], open_place == wanted)
        for task, start_ns in enumerate(known.start_ns if self._starts else ()):
            self.model.add_hint(self._starts[task], -(-start_ns // self.unit_ns))

    def read(self, solver: cp_model.CpSolver) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Places and, where there are times, begins in steps."""
        tasks = range(len(self._problem.tasks))
        place = tuple(
            next(p for p in self._problem.open_places[task] if solver.boolean_value(self._on[task, p]))
            for task in tasks
        )
        return place, tuple(solver.value(start) for start in self._starts)

    def _at(self, task: int, place: int) -> Any:
        return self._on.get((task, place), 0)

    def _groups_of(self, task: int) -> dict[int, Any]:
        """By group, whether the task is there."""
        problem = self._problem
        by_group: dict[int, list[Any]] = {}
        for place in problem.open_places[task]:
            by_group.setdefault(problem.group_of[place], []).append(self._on[task, place])
        found = {}
        for group, literals in by_group.items():
            if len(literals) == 1:
                found[group] = literals[0]
            else:
                found[group] = self.model.new_bool_var("")
                self.model.add(sum(literals) == found[group])
        return found

    def _limit_loads(self, limit: int) -> None:
        problem = self._problem
        for place, cores in enumerate(problem.cores if problem.load else ()):
            here = [(task, self._on[task, place]) for task in range(len(problem.tasks)) if (task, place) in self._on]
            for task, on in here:
                if problem.load[task][place] > limit:
                    self.model.add(on == 0)
            self.model.add(sum(problem.load[task][place] * on for task, on in here) <= limit * cores)

    def _limit_memory(self) -> None:
        problem = self._problem
        for group, most in enumerate(problem.memory_limits):
            if most is not None:
                needed = [
                    problem.memory_bytes[task] * self._in_group[task][group]
                    for task in range(len(problem.tasks))
                    if group in self._in_group[task] and problem.memory_bytes[task]
                ]
                self.model.add(sum(needed) <= most)

    def _connect(self) -> None:
        """Keeps the ways of messages."""
        for hop in self._problem.blocked:
            for g, before in self._in_group[hop.before].items():
                for h, after in self._in_group[hop.after].items():
                    if hop.cost_ns[g][h] is None:
                        self.model.add_bool_or(~before, ~after)

    def _peak(self) -> Any:
        problem = self._problem
        peak = self.model.new_int_var(0, 2**40, "")
        for place, cores in enumerate(problem.cores):
            load = sum(problem.load[task][place] * on for (task, at), on in self._on.items() if at == place)
            self.model.add(load <= peak * cores)
            for (task, at), on in self._on.items():
                if at == place:
                    self.model.add(peak >= problem.load[task][place] * on)
        return peak

    def _power(self) -> Any:
        """Millionths of milliwatts of busy cores, and the idle power of every element in use."""
        problem = self._problem
        total: list[Any] = [
            problem.busy_mw[place] * problem.load[task][place] * on for (task, place), on in self._on.items()
        ]
        for place in range(len(problem.places)):
            here = [on for (_, at), on in self._on.items() if at == place]
            if here and problem.idle_mw[place]:
                used = self.model.new_bool_var("")
                self.model.add_max_equality(used, here)
                total.append(problem.idle_mw[place] * WHOLE_CORE * used)
        return sum(total)

    def _add_times(self, goal: Goal) -> None:
        problem = self._problem
        tasks = range(len(problem.tasks))
        horizon_ns = _horizon_ns(problem)
        self.unit_ns = _unit_ns(problem, horizon_ns)
        horizon = -(-horizon_ns // self.unit_ns) + 2 * len(problem.tasks)
        self._starts = [self.model.new_int_var(0, horizon, "") for _ in tasks]
        duration = {at: self._steps(problem.wcet_ns[at[0]][at[1]] or 0) for at in self._on}
        ends = []
        for task in tasks:
            here = [(on, duration[at], problem.entry(*at)) for at, on in self._on.items() if at[0] == task]
            ends.append(self._starts[task] + sum(on * steps for on, steps, _ in here))
            if any(entry for _, _, entry in here):
                self.model.add(self._starts[task] >= sum(on * self._steps(entry or 0) for on, _, entry in here))
        for place, cores in enumerate(problem.cores):
            intervals = [
                self.model.new_optional_fixed_size_interval_var(self._starts[task], duration[task, at], on, "")
                for (task, at), on in self._on.items()
                if at == place
            ]
            if cores == 1:
                self.model.add_no_overlap(intervals)
            elif len(intervals) > cores:
                self.model.add_cumulative(intervals, [1] * len(intervals), cores)
        for hop in problem.hops:
            self._add_hop(hop.before, hop.after, hop.cost_ns, ends)
        if goal is Goal.ENDS:
            self.model.minimize(sum(weight * ends[task] for task, weight in problem.ends))
            return
        makespan = self.model.new_int_var(0, horizon, "")
        for task in tasks:
            self.model.add(ends[task] <= makespan)
        for place, cores in enumerate(problem.cores):
            work = sum(duration[at] * on for at, on in self._on.items() if at[1] == place)
            self.model.add(work <= makespan * cores)
        self.model.minimize(makespan)

    def _add_hop(self, before: int, after: int, cost_ns: Sequence[Sequence[int | None]], ends: Sequence[Any]) -> None:
        """The message of `before` comes to `after` in time."""
        model, start = self.model, self._starts[after]
        across = {cost for g, row in enumerate(cost_ns) for h, cost in enumerate(row) if g != h}
        if len(across) == 1 and None not in across and not any(row[g] for g, row in enumerate(cost_ns)):
            # One cost between any two groups: what counts is only whether both are in the same.
            steps = self._steps(next(iter(across)) or 0)
            apart = model.new_bool_var("")
            for group, there in self._in_group[before].items():
                model.add(apart >= there - self._in_group[after].get(group, 0))
            model.add(start >= ends[before] + steps * apart)
            return
        model.add(start >= ends[before])
        for g, sent in self._in_group[before].items():
            for h, come in self._in_group[after].items():
                cost = cost_ns[g][h]
                if cost:
                    model.add(start >= ends[before] + self._steps(cost)).only_enforce_if(sent, come)

    def _steps(self, time_ns: int) -> int:
        return -(-time_ns // self.unit_ns)


def _horizon_ns(problem: PlacementProblem) -> int:
    """One job after the other, each at its longest, with the longest messages between: nothing needs more."""
    work = sum(max((cost for cost in row if cost is not None), default=0) for row in problem.wcet_ns)
    come = sum(max((cost or 0 for row in hop.cost_ns for cost in row), default=0) for hop in problem.hops)
    return work + come + max((entry or 0 for row in problem.entry_ns for entry in row), default=0)


def _unit_ns(problem: PlacementProblem, horizon_ns: int) -> int:
    """The coarsest step in which all times are whole, or one that is coarse enough; times are then rounded up."""
    times = [cost for row in problem.wcet_ns for cost in row if cost]
    times += [entry for row in problem.entry_ns for entry in row if entry]
    times += [cost for hop in problem.hops for row in hop.cost_ns for cost in row if cost]
    exact = math.gcd(*times) if times else 1
    return exact if horizon_ns // exact <= _MOST_STEPS else -(-horizon_ns // _MOST_STEPS)
