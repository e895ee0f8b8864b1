"""The legal runs of a system up to a horizon: what is fixed in all of them, and how many choices lists hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

from rt_sched.lowering import lower
from rt_sched.lowering.clocks import with_exact_clocks
from rt_sched.lowering.freedoms import Freedoms, freedoms_of, without_samples
from rt_sched.lowering.machine_input import MachineInput, Role
from rt_sched.lowering.scenarios import fixed_row
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import Plan, System
from rt_sched.units import NS_PER_S

#: Jobs that a run has at most, about; and periods of the slowest task that it holds at least, if that allows it.
_MOST_JOBS, _PERIODS = 2000, 4


@dataclass(frozen=True)
class Space:
    """`given`: the machine's input with the longest times and without samples. `jobs`: how many jobs of each task lists
    cover. `device`: of each task, the one whose clock drives it. `into`: of each task, its edges with their slots.
    """

    system: System
    plan: Plan
    given: MachineInput
    freedoms: Freedoms
    horizon_ns: int
    jobs: tuple[int, ...]
    device: tuple[str, ...]
    into: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def tasks(self) -> range:
        """Indices of all tasks."""
        return range(len(self.given.tasks))

    def activators(self, task: int) -> tuple[tuple[int, int], ...]:
        """Edge and slot of the inputs whose messages make jobs of a task arrive."""
        return tuple(one for one in self.into[task] if self.given.edges[one[0]].role is not Role.READ)

    def upstream(self, tasks: set[int]) -> set[int]:
        """These tasks and all that send to them, directly or not."""
        found, new = set(tasks), set(tasks)
        while new:
            sources = {self.given.edges[edge].task for task in new for edge, _ in self.into[task]}
            new = {source for source in sources if source is not None} - found
            found |= new
        return found

    def beside(self, tasks: set[int]) -> set[int]:
        """These tasks and all others on their processors."""
        places = {self.given.tasks[task].processor for task in tasks}
        return {task for task in self.tasks if self.given.tasks[task].processor in places}


def space_of(system: System, plan: Plan, reach_ns: int = 0) -> Space:
    """The legal runs under this plan, in the first mode. `reach_ns`: how long what is looked for may take."""
    given = lower(with_exact_clocks(system), plan, without_samples(), horizon_ns=1, execution=Execution.UNIFORM)
    opened = freedoms_of(system, given)
    horizon_ns = _horizon_ns(opened, reach_ns)
    given = replace(given, tasks=tuple(fixed_row(row, 0) for row in given.tasks), horizon_ns=horizon_ns)
    into: list[list[tuple[int, int]]] = [[] for _ in given.tasks]
    for number, edge in enumerate(given.edges):
        into[edge.target].append((number, len(into[edge.target])))
    return Space(
        system=system,
        plan=plan,
        given=given,
        freedoms=opened,
        horizon_ns=horizon_ns,
        jobs=tuple(horizon_ns // max(task.separation_ns, 1) + 2 for task in opened.tasks),
        device=tuple(plan.processors[one.processor].device for one in plan.placements),
        into=tuple(map(tuple, into)),
    )


def _horizon_ns(opened: Freedoms, reach_ns: int) -> int:
    """Long enough for a few of the slowest periods, for what is looked for, and until all periods repeat."""
    separations = [task.separation_ns for task in opened.tasks if task.active]
    slowest_ns = max(separations, default=1)
    rate = sum(1 / max(one, 1) for one in separations)
    most_ns = max(int(_MOST_JOBS / rate), 1) if rate else _PERIODS * slowest_ns
    least_ns = max(_PERIODS * slowest_ns, 3 * reach_ns) + max((task.offset_ns for task in opened.sensors), default=0)
    repeats_ns = 2 * _repeats_ns(opened)
    wanted_ns = repeats_ns if least_ns < repeats_ns <= most_ns else least_ns
    return max(min(wanted_ns, most_ns), min(2 * slowest_ns, NS_PER_S * 3600))


def _repeats_ns(opened: Freedoms) -> int:
    """When the arrivals of tasks with periods, and of sensors, repeat; whole nanoseconds, by their least distances."""
    periods = [task.separation_ns for task in opened.tasks if task.active and not task.sporadic]
    periods += [int(Fraction(NS_PER_S) / sensor.rate_hz) for sensor in opened.sensors]
    return lcm(*(max(one, 1) for one in periods)) if periods else 0
