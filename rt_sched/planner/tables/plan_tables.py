"""From a system and a plan to tables: list scheduling or CP-SAT proposes, `check_plan` and the analysis decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import AnalysisReport
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.errors import AnalysisNotApplicable, RtSchedError
from rt_sched.lowering import check_plan
from rt_sched.model import Plan, Scheduling, System, TableEntry
from rt_sched.planner.tables.arrivals import Arrivals
from rt_sched.planner.tables.cp_schedule import cp_schedule
from rt_sched.planner.tables.figures import TableFigures, table_figures
from rt_sched.planner.tables.from_system import SystemProblem, table_problem
from rt_sched.planner.tables.list_schedule import Stuck, list_schedule
from rt_sched.planner.tables.problem import violations
from rt_sched.planner.tables.write import ElementTable, tables_as_yaml, with_table_policies, with_tables
from rt_sched.units import NS_PER_S

#: `list`: by critical path; `cp_sat`: least latency, begun with what the list gives.
METHODS_OF_TABLES = ("list", "cp_sat")
_DEFAULT_LIMIT_NS = 10 * NS_PER_S


class NoTable(RtSchedError):
    """No table was found. `proved`: none exists; otherwise one may."""

    def __init__(self, reason: str, *, proved: bool) -> None:
        self.proved = proved
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class TableResult:
    """`system`, `plan`: as given, with the tables. `starts`: (task, number, start) of every job of the cycle; a start
    may lie in a later cycle. `offsets`: (task, ns) of timed tasks whose offset is new. `latency_ns`: the largest of all
    frames; no table has less than `latency_bound_ns`, where that is known. `relies_on`: sensors whose samples have to
    come at their declared instants for entries to find their jobs. `report`: the analysis of the result, which promises
    nothing for the phase of sensors.
    """

    system: System
    plan: Plan
    tables: tuple[ElementTable, ...]
    starts: tuple[tuple[str, int, int], ...]
    offsets: tuple[tuple[str, int], ...]
    relies_on: tuple[str, ...]
    figures: TableFigures
    report: AnalysisReport
    method: str
    latency_ns: int
    latency_bound_ns: int | None

    @property
    def proved(self) -> bool:
        """Whether no table has a smaller largest latency."""
        return self.latency_bound_ns == self.latency_ns

    @property
    def gap(self) -> Fraction | None:
        """By which part of it the latency might be less; None where nothing is known."""
        if self.latency_bound_ns is None:
            return None
        return Fraction(self.latency_ns - self.latency_bound_ns, max(1, self.latency_ns))

    def as_yaml(self) -> str:
        """What a system file needs to have these tables."""
        return tables_as_yaml(self.system, self.plan, self.tables, dict(self.offsets))


def plan_tables(
    system: System,
    plan: Plan,
    elements: Sequence[str] | None = None,
    method: str = "cp_sat",
    time_limit_ns: int = _DEFAULT_LIMIT_NS,
    *,
    margin_ns: int = 0,
    free_offsets: bool = False,
) -> TableResult:
    """Tables for `elements` (such as orin-1.gpu; None: all that have tasks), for the tasks that `plan` puts there.

    `margin_ns`: what is kept between the latest release of a job and its entry. `free_offsets`: timed tasks may get a
    new offset, right after what they read. Raises NoTable, and AnalysisNotApplicable where jobs have no known instants.
    """
    if method not in METHODS_OF_TABLES:
        raise AnalysisNotApplicable(f"unknown method {method!r}; valid: {', '.join(METHODS_OF_TABLES)}")
    lanes = _lanes(system, plan, elements)
    _refuse(system, plan, lanes)
    (mode,) = mode_loads(system, plan)
    here = frozenset(index for index, one in enumerate(plan.placements) if one.processor in lanes)
    arrivals = Arrivals(mode, here, mode_bounds(mode, METHODS))
    found = table_problem(mode, lanes, arrivals, margin_ns=margin_ns, free_offsets=free_offsets)
    starts, bound_ns = _starts(found, method, time_limit_ns)
    return _result(system, plan, lanes, found, starts, bound_ns, method)


def _starts(found: SystemProblem, method: str, time_limit_ns: int) -> tuple[tuple[int, ...], int | None]:
    """The starts of all jobs, and what no latency is below."""
    problem = found.problem
    listed = list_schedule(problem)
    if method == "list":
        if isinstance(listed, Stuck):
            raise NoTable(f"list scheduling finds no table: {listed.reason}", proved=False)
        return listed, None
    solved = cp_schedule(problem, time_limit_ns, None if isinstance(listed, Stuck) else listed)
    if solved.starts is not None:
        return solved.starts, solved.bound_ns
    if solved.infeasible:
        stuck = f": {listed.reason}" if isinstance(listed, Stuck) else ""
        raise NoTable(f"no table keeps all deadlines and orders, which is proved{stuck}", proved=True)
    if isinstance(listed, Stuck):
        raise NoTable(f"no table was found in time; list scheduling is stuck: {listed.reason}", proved=False)
    return listed, solved.bound_ns


def _result(
    system: System,
    plan: Plan,
    lanes: Sequence[int],
    found: SystemProblem,
    starts: tuple[int, ...],
    bound_ns: int | None,
    method: str,
) -> TableResult:
    problem = found.problem
    wrong = violations(problem, starts)
    if wrong:
        raise AssertionError(f"a table of {method} is not legal: {wrong[0]}")
    tables = _tables(plan, lanes, found, starts)
    offsets = _offsets(system, found, starts)
    with_them = with_tables(system, plan, tables, offsets)
    by_table = with_table_policies(plan, tables)
    refused = check_plan(with_them, by_table)
    if refused:
        raise AssertionError(f"a table of {method} is refused: {refused[0]}")
    return TableResult(
        system=with_them,
        plan=by_table,
        tables=tables,
        starts=tuple((job.task, job.number, start) for job, start in zip(problem.jobs, starts, strict=True)),
        offsets=tuple(offsets.items()),
        relies_on=found.sensors,
        figures=table_figures(problem, starts),
        report=analyze(with_them, by_table),
        method=method,
        latency_ns=problem.latency_ns(starts),
        latency_bound_ns=bound_ns,
    )


def _lanes(system: System, plan: Plan, elements: Sequence[str] | None) -> list[int]:
    """The processors of the elements that have tasks."""
    known = [f"{device.name}.{pe.name}" for device in system.devices for pe in device.processing_elements]
    for name in elements or ():
        if name not in known:
            raise AnalysisNotApplicable(f"unknown processing element {name!r}; valid: {', '.join(known)}")
    used = {placement.processor for placement in plan.placements}
    wanted = set(known if elements is None else elements)
    lanes = [n for n, one in enumerate(plan.processors) if n in used and f"{one.device}.{one.pe}" in wanted]
    if not lanes:
        raise AnalysisNotApplicable("no task runs on these processing elements")
    return lanes


def _refuse(system: System, plan: Plan, lanes: Sequence[int]) -> None:
    """What no table is made for."""
    if system.modes:
        raise AnalysisNotApplicable("tables are made for systems without modes")
    elements = {(device.name, pe.name): pe for device in system.devices for pe in device.processing_elements}
    for device in system.devices:
        clock = device.clock
        if clock.drift_ppm or clock.offset_ns or clock.sync_error_ns:
            raise AnalysisNotApplicable(f"the clock of {device.name} is not exact, so cycles and arrivals move apart")
    for lane in lanes:
        processor = plan.processors[lane]
        if elements[processor.device, processor.pe].scheduling is not Scheduling.PARTITIONED:
            raise AnalysisNotApplicable(f"{processor.name}: cores that share a ready queue cannot have tables")
    for task, placement in zip(system.tasks, plan.placements, strict=True):
        if placement.processor in lanes and (task.suspensions or task.sections):
            what = "suspends itself" if task.suspensions else "shares resources"
            raise AnalysisNotApplicable(f"{task.name} {what}, which entries of a table do not serve; split it there")


def _tables(plan: Plan, lanes: Sequence[int], found: SystemProblem, starts: Sequence[int]) -> tuple[ElementTable, ...]:
    problem = found.problem
    entries: dict[tuple[str, str], list[TableEntry]] = {}
    for job, start in zip(problem.jobs, starts, strict=True):
        processor = plan.processors[lanes[job.lane]]
        entry = TableEntry(start % problem.cycle_ns, job.length_ns, job.task)
        entries.setdefault((processor.device, processor.pe), []).append(entry)
    return tuple(
        ElementTable(device, pe, problem.cycle_ns, tuple(sorted(mine, key=lambda one: (one.start_ns, one.task))))
        for (device, pe), mine in entries.items()
    )


def _offsets(system: System, found: SystemProblem, starts: Sequence[int]) -> dict[str, int]:
    """The latest offset that has every job of a task with a free one arrive by its entry."""
    offsets = {}
    for task in sorted(found.free):
        first, count = found.first_job[task], found.jobs_of[task]
        span_ns = found.problem.cycle_ns
        offsets[system.tasks[task].name] = min(
            starts[first + number] - number * span_ns // count for number in range(count)
        )
    return offsets
