"""The analysis of a set of independent tasks on one core, by the methods that systems are analysed with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from rt_sched.analysis.analyze import chosen_methods, processor_result
from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad, Stream
from rt_sched.analysis.loads.resolve import NOMINAL
from rt_sched.analysis.methods import Method
from rt_sched.analysis.methods.load_tests import judge_load
from rt_sched.analysis.result import AnalysisReport, Assumption, ModeResult, Verdict, Witness, worst_verdict
from rt_sched.analysis.system.critical_runs import critical_run
from rt_sched.analysis.system.engine import TaskBound, processor_bounds
from rt_sched.analysis.system.propagation import MessageStream
from rt_sched.analysis.system.ties import ties
from rt_sched.analysis.system.verdicts import proof_of, task_result
from rt_sched.analysis.system.witness import first_misses
from rt_sched.analysis.theory.curves import earliest_arrival_ns, is_subadditive
from rt_sched.analysis.theory.fixed_points import exact_sum
from rt_sched.lowering.machine_input import LIMIT_NS, MachineInput
from rt_sched.model import ArrivalCurve, Policy, Processor, SetTask, TaskSet
from rt_sched.trace.setup import Policy as MachinePolicy
from rt_sched.trace.setup import ProcessorRow, TaskRow
from rt_sched.units import NS_PER_S

#: Longest run that is tried for a miss, in separations of the slowest task, and in jobs.
_SEPARATIONS, _MOST_JOBS = 20, 50_000
#: Most tasks for which a run of their own is tried; arrivals of a curve that are written down one after the other.
_MOST_RUNS, _MOST_ARRIVALS = 64, 1000
#: Tasks in all runs together.
_MOST_ROWS = 20_000
_PROCESSOR = Processor("set", "core", 0, Policy.FIXED_PRIORITY, True)


def analyze_task_set(task_set: TaskSet, *, methods: Sequence[str] | None = None) -> AnalysisReport:
    """Bounds on all response times of `task_set`, counted from the arrival, with verdicts; as `analyze` of a system.

    Raises AnalysisNotApplicable for an unknown method.
    """
    load = task_set_load(task_set)
    bounds = task_set_bounds(load, chosen_methods(methods))
    tests = judge_load(load)
    proven = any(verdict is Verdict.SCHEDULABLE for _, verdict, _ in tests)
    witnesses = {} if proven else _witnesses(task_set, load, bounds)
    proof = proof_of(tests)
    tasks = tuple(task_result(NOMINAL, load, one, witnesses.get(index), proof) for index, one in sorted(bounds.items()))
    overloaded = [verdict for _, verdict, _ in tests if verdict is Verdict.UNSCHEDULABLE]
    verdict = worst_verdict([*(one.verdict for one in tasks), *overloaded])
    mode = ModeResult(NOMINAL, verdict, tasks, (processor_result(NOMINAL, load, load.load, tests),))
    return AnalysisReport(task_set.name, task_set.policy.value, verdict, (mode,), _assumptions(task_set))


def task_set_load(task_set: TaskSet) -> ProcessorLoad:
    """The set as methods for one processor see it. Indices are places in the set; tasks may share levels."""
    row = ProcessorRow(_PROCESSOR.name, MachinePolicy[task_set.policy.name], task_set.preemptive)
    processor = Processor(_PROCESSOR.device, _PROCESSOR.pe, 0, task_set.policy, task_set.preemptive)
    whole = not task_set.preemptive or task_set.policy is Policy.FIFO
    tasks = [_load_task(index, task, whole) for index, task in enumerate(task_set.tasks)]
    return ProcessorLoad(processor, row, tuple(sorted(tasks, key=lambda task: (task.level, task.index))))


def task_set_bounds(load: ProcessorLoad, methods: Sequence[Method]) -> dict[int, TaskBound]:
    """The least bound of every task, by its index."""
    arrivals = {
        task.index: tuple(MessageStream(s.period_ns, 0, s.jitter_ns, stamped=False) for s in task.streams)
        for task in load.tasks
    }
    return {one.task.index: one for one in processor_bounds(load, methods, {**arrivals})}


def _load_task(index: int, task: SetTask, whole: bool) -> LoadTask:
    stream = _stream(task)
    may_last = task.curve is None or is_subadditive(task.curve)
    return LoadTask(
        index=index,
        name=task.name,
        level=task.level,
        wcet_ns=task.wcet_ns,
        bcet_ns=task.bcet_ns,
        deadline_ns=task.deadline_ns,
        streams=(stream,),
        release_jitter_ns=task.jitter_ns,
        offset_ns=task.offset_ns,
        region_ns=task.wcet_ns if whole else 1,
        last_region_ns=task.wcet_ns if whole else 1,
        rate_hz=NS_PER_S * stream.rate if may_last else None,
        free=task.offset_ns is None,
    )


def _stream(task: SetTask) -> Stream:
    if task.curve is None:
        return Stream(task.period_ns or task.separation_ns or 1)
    return Stream(max(1, task.curve.horizon_ns // task.curve.steps[-1][1]), curve=task.curve)


def _witnesses(task_set: TaskSet, load: ProcessorLoad, bounds: Mapping[int, TaskBound]) -> dict[int, Witness]:
    """The first miss of every task that may miss, in runs that bring its worst case about."""
    wanted = [i for i, one in bounds.items() if one.bound is None or one.bound.value_ns > one.task.deadline_ns]
    found: dict[int, Witness] = {}
    wanted.sort(key=lambda index: task_set.tasks[index].name)
    for how, given in _runs(task_set, load, bounds, wanted, found):
        for index, witness in first_misses(how, given, wanted).items():
            found.setdefault(index, witness)
        if len(found) == len(wanted):
            break
    return found


def _runs(
    task_set: TaskSet,
    load: ProcessorLoad,
    bounds: Mapping[int, TaskBound],
    wanted: Sequence[int],
    found: Mapping[int, Witness],
) -> Iterator[tuple[str, MachineInput]]:
    streams = {task.index: task.streams[0] for task in load.tasks}
    slowest_ns = max((stream.period_ns for stream in streams.values()), default=1)
    rate = exact_sum(stream.rate for stream in streams.values())
    latest_ns = 2 * max((task.jitter_ns + (task.offset_ns or 0) for task in task_set.tasks), default=0)
    free = [task.offset_ns is None and task.curve is None for task in task_set.tasks]
    for index in wanted[: max(1, min(_MOST_RUNS, _MOST_ROWS // len(streams)))]:
        one = bounds[index]
        if index in found:
            continue
        reach_ns = 0 if one.bound is None else 4 * (one.bound.value_ns + (one.bound.window_ns or 0))
        horizon_ns = min(max(reach_ns, _SEPARATIONS * slowest_ns) + one.task.deadline_ns, int(_MOST_JOBS / rate) + 1)
        if horizon_ns + latest_ns > LIMIT_NS:
            continue
        given = _machine(task_set, load, horizon_ns)
        how = f"all tasks are released together, where {one.task.name} waits longest"
        yield how, critical_run(given, free, load, one.task, one.bound)
        if index not in found and ties(load, one.task):
            how = f"all tasks are released together, {one.task.name} 1 ns behind them"
            yield how, critical_run(given, free, load, one.task, one.bound, behind_ns=1)


def _machine(task_set: TaskSet, load: ProcessorLoad, horizon_ns: int) -> MachineInput:
    """A run of the set; tasks with curves arrive as early as they may, when all that may block has begun."""
    begin_ns = 1 + max((task.jitter_ns for task in task_set.tasks), default=0)
    rows = []
    for task in task_set.tasks:
        rate_hz = Fraction(NS_PER_S, task.period_ns) if task.period_ns and task.offset_ns is not None else None
        arrivals: tuple[int, ...] | None = None if rate_hz is not None else (0,)
        if task.curve is not None:
            arrivals = tuple(begin_ns + gap_ns for gap_ns in _earliest(task.curve, horizon_ns))
        rows.append(
            TaskRow(
                task.name,
                0,
                task.deadline_ns,
                task.wcet_ns,
                task.level,
                rate_hz=rate_hz,
                offset_ns=begin_ns if task.curve is not None else task.offset_ns or 0,
                explicit_arrivals_ns=arrivals,
                separation_ns=None if task.curve is not None else task.period_ns or task.separation_ns,
                jitter_ns=task.jitter_ns,
            )
        )
    return MachineInput((load.row,), (), tuple(rows), (), horizon_ns)


def _earliest(curve: ArrivalCurve, horizon_ns: int) -> list[int]:
    """Arrivals as early as the curve allows in all windows."""
    follows = is_subadditive(curve)
    found = [0]
    for job in range(1, _MOST_JOBS if follows else _MOST_ARRIVALS):
        if follows:
            next_ns = earliest_arrival_ns(curve, job)
        else:
            next_ns = max(found[i] + earliest_arrival_ns(curve, job - i) for i in range(job))
        if next_ns > horizon_ns:
            break
        found.append(next_ns)
    return found


def _assumptions(task_set: TaskSet) -> tuple[Assumption, ...]:
    everyone = tuple(task.name for task in task_set.tasks)
    jittered = tuple(task.name for task in task_set.tasks if task.jitter_ns)
    curved = tuple(task.name for task in task_set.tasks if task.curve is not None)
    spaced = tuple(task.name for task in task_set.tasks if task.curve is None)
    rows = (
        (
            "execution",
            "no job executes longer than its worst-case execution time",
            everyone,
            "executed time of every job",
        ),
        (
            "separation",
            "arrivals are at least a period or min interarrival apart",
            spaced,
            "distance of consecutive arrivals",
        ),
        ("curve", "no window sees more arrivals than the curve allows", curved, "arrivals in windows of every length"),
        ("jitter", "releases follow arrivals within the jitter", jittered, "release less arrival of every job"),
        (
            "independence",
            "tasks share nothing but the core, never wait inside a job, and switches take no time",
            everyone,
            "locks, waits and switches of a run",
        ),
    )
    return tuple(Assumption(key, text, tasks, check) for key, text, tasks, check in rows if tasks)
