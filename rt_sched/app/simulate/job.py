"""Simulation: a system in, statistics of any number of runs out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rt_sched import kernels
from rt_sched.app.inputs.fault_args import check_fault_times, parse_faults
from rt_sched.app.inputs.plan_files import plan_for, policy_problems
from rt_sched.app.inputs.scenario_files import scenario_for
from rt_sched.app.inputs.shipped import resolve
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.progress import Progress
from rt_sched.app.simulate.beginning import Beginning, look_at_beginning
from rt_sched.app.simulate.document import simulation_document
from rt_sched.app.simulate.evidence import evidence_of
from rt_sched.app.simulate.gantt import parse_window, usual_window
from rt_sched.app.simulate.runs import LARGEST_SEED, Case, run_all
from rt_sched.app.simulate.trace import DRAWN, FORMS, TracedRun, trace_form
from rt_sched.config import load_system
from rt_sched.errors import ConfigError, Problem
from rt_sched.kernels import bulk
from rt_sched.lowering import Execution
from rt_sched.lowering.machine_input import LIMIT_NS
from rt_sched.lowering.merging import with_merged
from rt_sched.report.gantt_rows import Chart, RowsOf
from rt_sched.sim.bulk_tables import ChainQuestion, Questions
from rt_sched.units import floor_int, format_ns, parse_time

#: Options that say what a scenario says.
_SAID_BY_SCENARIO = {
    "duration": "--duration",
    "runs": "--runs",
    "execution": "--execution",
    "faults": "--fault",
    "seed": "--seed",
}


@dataclass(frozen=True, slots=True)
class SimulateRequest:
    """What the user asked for. None: the system file's own policy, one thread per core, no trace.

    Run i of `runs` has the seed `seed` + i. `run` is the one that is traced: into the file `trace`, and with `gantt` as
    a chart. `window`: what charts show of it, TIME..TIME; None: its first hyperperiod. `rows`: what has a row there.
    `scenario`: a file that says all that would be drawn, of one run.
    """

    system: str
    duration: str = "100s"
    runs: int = 1
    execution: str = "profile"
    policy: str | None = None
    plan: Path | None = None
    faults: tuple[str, ...] = ()
    seed: int = 0
    threads: int | None = None
    trace: Path | None = None
    run: int = 0
    gantt: bool = False
    window: str | None = None
    rows: str = RowsOf.TASKS.value
    scenario: Path | None = None


def simulate(
    request: SimulateRequest, progress: Progress, show: Callable[[Chart], None] | None = None
) -> dict[str, Any]:
    """The whole job; its document. `show` is given the chart that is asked for.

    Raises RtSchedError for anything the user can mend.
    """
    began = time.monotonic()
    problems = _problems(request)
    if problems:
        raise ConfigError(problems)
    path = resolve(request.system)
    system = load_system(path, stages=ImportedStages())
    plan, note = plan_for(system, request.plan, request.policy)
    system = with_merged(system, plan.merged)
    notes = [note] if note else []
    faults = parse_faults(request.faults, system)
    case = Case(system, plan, faults, Execution(request.execution), _duration_ns(request.duration), request.seed)
    if request.scenario is not None:
        scenario, more = scenario_for(system, plan, request.scenario)
        notes += more
        case = replace(case, horizon_ns=scenario.horizon_ns, scenario=scenario)
    check_fault_times(faults, case.horizon_ns)
    progress.step("loading the scheduling kernel")
    kernels.warm_up()
    bulk.warm_up()
    progress.step("analysing, and checking the beginning of the first run")
    beginning = look_at_beginning(case)
    progress.step("simulating")
    simulated = run_all(
        case, _questions(case, beginning), request.runs, request.threads, _traced(request, case, show), progress
    )
    return simulation_document(
        case,
        simulated,
        beginning,
        evidence_of(case, simulated.counts, beginning),
        file=str(path),
        scenario=None if request.scenario is None else str(request.scenario),
        notes=notes,
        wall_s=time.monotonic() - began,
    )


def _problems(request: SimulateRequest) -> list[Problem]:
    """Every mistake in the options."""
    problems = []
    names = [one.value for one in Execution]
    if request.execution not in names:
        problems.append(Problem("--execution", 0, 0, request.execution, f"valid: {', '.join(names)}"))
    try:
        duration_ns = _duration_ns(request.duration)
    except ValueError as error:
        problems.append(Problem("--duration", 0, 0, request.duration, str(error)))
    else:
        if not 0 < duration_ns <= LIMIT_NS:
            problems.append(Problem("--duration", 0, 0, request.duration, "must be above 0 and at most 36 years"))
    if request.scenario is not None:
        usual = SimulateRequest(request.system)
        problems += [
            Problem(option, 0, 0, "", "the scenario says this; leave one of them out")
            for name, option in _SAID_BY_SCENARIO.items()
            if getattr(request, name) != getattr(usual, name)
        ]
    problems += policy_problems(request.policy, request.plan)
    if request.trace is not None and trace_form(request.trace) is None:
        problems.append(Problem("--trace", 0, 0, str(request.trace), f"must end in one of {', '.join(FORMS)}"))
    if request.run >= request.runs:
        most = request.runs - 1
        problems.append(Problem("--run", 0, 0, str(request.run), f"runs are numbered 0 to {most}; see --runs"))
    if request.seed + request.runs > LARGEST_SEED + 1:
        last = LARGEST_SEED - request.runs + 1
        problems.append(
            Problem("--seed", 0, 0, str(request.seed), f"at most {last} for so many runs, each has the next")
        )
    return problems + _chart_problems(request)


def _chart_problems(request: SimulateRequest) -> list[Problem]:
    problems = []
    rows = [one.value for one in RowsOf]
    if request.rows not in rows:
        problems.append(Problem("--rows", 0, 0, request.rows, f"valid: {', '.join(rows)}"))
    if request.window is None:
        return problems
    drawn = request.trace is not None and trace_form(request.trace) in DRAWN
    if not request.gantt and not drawn:
        reason = f"is what charts show: add --gantt, or --trace with a file that ends in {' or '.join(DRAWN)}"
        problems.append(Problem("--window", 0, 0, request.window, reason))
    try:
        start_ns, _ = parse_window(request.window)
        duration_ns = _duration_ns(request.duration)
    except ValueError as error:
        return [*problems, Problem("--window", 0, 0, request.window, str(error))]
    if start_ns >= duration_ns:
        reason = f"begins at or after the end of the run, {format_ns(duration_ns)}"
        problems.append(Problem("--window", 0, 0, request.window, reason))
    return problems


def _traced(request: SimulateRequest, case: Case, show: Callable[[Chart], None] | None) -> TracedRun | None:
    if request.trace is None and not request.gantt:
        return None
    window_ns = usual_window(case.system, case.horizon_ns)
    if request.window is not None:
        start_ns, end_ns = parse_window(request.window)
        window_ns = start_ns, min(end_ns, case.horizon_ns)
    title = f"{case.system.name}, run {request.run} (seed {case.seed(request.run)})"
    rows_of = RowsOf(request.rows)
    return TracedRun(request.run, request.trace, window_ns, rows_of, title, show if request.gantt else None)


def _duration_ns(text: str) -> int:
    return floor_int(parse_time(text))


def _questions(case: Case, beginning: Beginning) -> Questions:
    """Every response and every chain beside its bounds."""
    separation_ns = {task.name: task.separation_ns for task in case.system.tasks}
    deadline_ns = {task.name: task.deadline_ns for task in case.system.tasks}
    chains = []
    for judged in beginning.chains:
        path = judged.chain.path
        known = beginning.bounds.chains.get(judged.chain.name, {})
        usual_ns = sum(separation_ns.get(name, 0) + deadline_ns.get(name, 0) for name in path)
        reaction, latency, data_age = (known.get(f"{name}_bound_ns") for name in ("reaction", "latency", "data_age"))
        bounds_ns = (reaction, latency, data_age)
        chains.append(ChainQuestion(judged.chain.name, path, usual_ns, judged.first_broken_ns, bounds_ns))
    bounds = [beginning.bounds.tasks.get(task.name, {}).get("bound_ns") for task in case.system.tasks]
    # A takeover changes the plan, so what the bounds are about ends with the first loss that one may answer.
    until_ns = min((fault.time_ns for fault in case.faults), default=None) if case.plan.takeovers else None
    return Questions(tuple(chains), tuple(bounds), until_ns)
