"""`explain`: how the bound of one task comes about, as one document and as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import AnalysisReport, TaskResult
from rt_sched.analysis.system.derivation import Derivation, JobStep, derive
from rt_sched.analysis.system.engine import loads_with_arrivals
from rt_sched.analysis.task_sets import analyze_task_set, task_set_load
from rt_sched.app.analyze import TaskSetRequest, load_and_plan
from rt_sched.app.analyze_rows import refusal_rows, terms_rows
from rt_sched.app.analyze_tables import refusal_lines
from rt_sched.config.problems import unknown
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.units import format_ns

EXPLANATION_SCHEMA = "rt-sched/explanation/1"

#: Jobs and iterations that the text shows at the begin, around the worst, and at the end.
_EDGE, _MOST_SHOWN = 3, 8


def explained_system_task(task: str, argument: str, policy: str | None, mode: str | None) -> dict[str, Any]:
    """How the bound of `task` comes about, in `mode` or the first one.

    Raises ConfigError with every problem of the file, AnalysisNotApplicable for an unknown task, mode or policy.
    """
    _, system, plan = load_and_plan(argument, policy)
    report = analyze(system, plan)
    modes = mode_loads(system, plan)
    names = [one.name for one in modes]
    if mode is not None and mode not in names:
        raise AnalysisNotApplicable(unknown("mode", mode, names))
    place = 0 if mode is None else names.index(mode)
    return explanation(report, task, names[place], loads_with_arrivals(modes[place], METHODS))


def explained_set_task(task: str, request: TaskSetRequest) -> dict[str, Any]:
    """How the bound of a task of a set comes about; raises as `explained_system_task` does."""
    task_set = request.load()
    return explanation(analyze_task_set(task_set), task, None, (task_set_load(task_set),))


def explanation(report: AnalysisReport, name: str, mode: str | None, loads: Sequence[ProcessorLoad]) -> dict[str, Any]:
    """The document on task `name`; `loads`: those of the mode, with arrivals."""
    try:
        result = report.task(name, mode)
    except KeyError:
        raise AnalysisNotApplicable(_no_such_task(report, name, mode)) from None
    place = next(((load, task) for load in loads for task in load.tasks if task.name == name), None)
    bound = result.bound
    steps = None if place is None or bound is None else derive(*place, bound)
    return {
        "schema": EXPLANATION_SCHEMA,
        "system": report.system,
        "task": name,
        "mode": result.mode,
        "processor": result.processor,
        "policy": None if place is None else place[0].policy.value,
        "preemptive": None if place is None else place[0].row.preemptive,
        "deadline_ns": result.deadline_ns,
        "response_bound_ns": None if bound is None else bound.value_ns,
        "verdict": result.verdict.value,
        "reason": result.reason,
        "lost_work": result.lost_work,
        "method": None if bound is None else bound.method,
        "source": None if bound is None else bound.source,
        "exact": None if bound is None else bound.exact,
        "window_ns": None if bound is None else bound.window_ns,
        "worst_job": None if bound is None else bound.job,
        "own": None if place is None else _own(place[1]),
        "others": [] if place is None else [_other(one, place[1]) for one in place[0].tasks if one is not place[1]],
        "terms": terms_rows(bound),
        "derivation": None if steps is None else _derivation(steps),
        "refusals": refusal_rows(result.refusals),
        "witness": _witness(result),
        "assumptions": [
            {"key": one.key, "text": one.text, "check": one.check} for one in report.assumptions if name in one.tasks
        ],
    }


def _no_such_task(report: AnalysisReport, name: str, mode: str | None) -> str:
    """Why there is nothing to say of `name` in `mode`: it exists in other modes only, or nowhere."""
    elsewhere = [found.name for found in report.modes if any(one.task == name for one in found.tasks)]
    if elsewhere:
        return (
            f"task {name} does not exist in mode {mode}; it does in {', '.join(elsewhere)}: "
            f"add --mode {elsewhere[0]} to explain it there"
        )
    return unknown("task", name, dict.fromkeys(one.task for found in report.modes for one in found.tasks))


def _own(task: LoadTask) -> dict[str, Any]:
    blocking = task.blocking
    return {
        "wcet_ns": task.wcet_ns,
        "overhead_ns": task.overhead_ns,
        "spin_ns": task.spin_ns,
        "cost_ns": task.cost_ns,
        "suspension_ns": task.suspension_ns,
        "level": task.level,
        "last_region_ns": task.last_region_ns,
        "release_jitter_ns": task.release_jitter_ns,
        "arrivals": _arrivals(task),
        "blocking_ns": None if blocking is None else blocking.total_ns,
        "blocked_by": [{"by": by, "value_ns": part_ns} for by, part_ns in (() if blocking is None else blocking.by)],
    }


def _other(other: LoadTask, task: LoadTask) -> dict[str, Any]:
    return {
        "name": other.name,
        "level": other.level,
        "urgency": "same" if other.level == task.level else "more" if other.level < task.level else "less",
        "cost_ns": other.cost_ns,
        "deadline_ns": other.deadline_ns,
        "region_ns": other.region_ns,
        "release_jitter_ns": other.release_jitter_ns,
        "arrivals": _arrivals(other),
    }


def _arrivals(task: LoadTask) -> list[dict[str, Any]]:
    return [
        {
            "separation_ns": None if stream.curve is not None else stream.period_ns,
            "jitter_ns": stream.jitter_ns,
            "curve": None
            if stream.curve is None
            else {"horizon_ns": stream.curve.horizon_ns, "steps": [list(step) for step in stream.curve.steps]},
        }
        for stream in task.streams
    ]


def _derivation(steps: Derivation) -> dict[str, Any]:
    return {
        "busy_period_ns": list(steps.busy_ns),
        "last_region_ns": steps.last_region_ns,
        "all_jobs": steps.complete,
        "jobs": [_job(step) for step in steps.jobs],
    }


def _job(step: JobStep) -> dict[str, Any]:
    return {
        "job": step.job,
        "arrival_ns": step.arrival_ns,
        "blocking_ns": step.blocking_ns,
        "windows_ns": list(step.windows_ns),
        "iterations": step.iterations,
        "finish_ns": step.finish_ns,
        "response_ns": step.response_ns,
    }


def _witness(result: TaskResult) -> dict[str, Any] | None:
    witness = result.witness
    if witness is None:
        return None
    return {"how": witness.how, "job": witness.job, "arrival_ns": witness.arrival_ns, "finish_ns": witness.finish_ns}


def explanation_text(document: dict[str, Any]) -> str:
    """The document for people, one step a line."""
    lines = [f"{document['task']} on {document['processor']}, mode {document['mode']}: {_answer(document)}"]
    own = document["own"]
    if own is not None:
        order = f"{document['policy']}, {'preemptive' if document['preemptive'] else 'not preemptive'}"
        lines += ["", f"1. The job itself ({order})", *_own_lines(own)]
        lines += ["", "2. Who can delay it", *_other_lines(document)]
    lines += ["", "3. The windows", *_window_lines(document)]
    lines += ["", "4. The bound, term by term", *_term_lines(document)]
    lines += ["", "5. The verdict", f"   {document['verdict']}: {document['reason']}"]
    if document["lost_work"] is not None:
        lines.append(f"   but {document['lost_work']}")
    if document["method"] is not None:
        kind = "exact: some legal run attains it" if document["exact"] else "sufficient: no legal run exceeds it"
        lines += [f"   method {document['method']} ({kind})", f"   source {document['source']}"]
    lines += [f"   assumes {one['key']}: {one['text']}" for one in document["assumptions"]]
    if document["response_bound_ns"] is None:
        lines += [f"   {line}" for line in refusal_lines(document["refusals"])]
    return "\n".join(lines)


def _answer(document: dict[str, Any]) -> str:
    bound_ns = document["response_bound_ns"]
    if bound_ns is None:
        return "no bound on the response was found"
    sign = "<=" if bound_ns <= document["deadline_ns"] else ">"
    return f"response at most {format_ns(bound_ns)} {sign} deadline {format_ns(document['deadline_ns'])}"


def _own_lines(own: dict[str, Any]) -> list[str]:
    parts = [f"execution {format_ns(own['wcet_ns'])}"]
    parts += [f"switches {format_ns(own['overhead_ns'])}"] if own["overhead_ns"] else []
    parts += [f"spinning {format_ns(own['spin_ns'])}"] if own["spin_ns"] else []
    lines = [f"   cost C = {' + '.join(parts)} = {format_ns(own['cost_ns'])}", f"   arrivals: {_stream_text(own)}"]
    if own["suspension_ns"]:
        lines.append(f"   it waits inside for up to {format_ns(own['suspension_ns'])}")
    if own["last_region_ns"] > 1:
        lines.append(f"   its last {format_ns(own['last_region_ns'])} cannot be preempted")
    return lines


def _stream_text(row: dict[str, Any]) -> str:
    texts = []
    for one in row["arrivals"]:
        if one["curve"] is not None:
            curve = one["curve"]
            steps = ", ".join(f"{jobs} in {format_ns(length)}" for length, jobs in curve["steps"][:_MOST_SHOWN])
            text = f"at most {steps}; again every {format_ns(curve['horizon_ns'])}"
        else:
            text = f"at least {format_ns(one['separation_ns'])} apart"
        texts.append(text + (f", up to {format_ns(one['jitter_ns'])} late" if one["jitter_ns"] else ""))
    jitter = f", released up to {format_ns(row['release_jitter_ns'])} later" if row["release_jitter_ns"] else ""
    return " and ".join(texts) + jitter


def _other_lines(document: dict[str, Any]) -> list[str]:
    lines = []
    by_level = document["policy"] == "fixed_priority"
    for other in document["others"]:
        if by_level and other["urgency"] == "less":
            continue
        rank = f"level {other['level']}" if by_level else f"deadline {format_ns(other['deadline_ns'])}"
        lines.append(f"   {other['name']} ({rank}): C = {format_ns(other['cost_ns'])}, {_stream_text(other)}")
    regions = [one for one in document["others"] if one["urgency"] == "less" and one["region_ns"] > 1]
    if by_level and regions:
        longest = max(regions, key=lambda one: one["region_ns"])
        goes_on = format_ns(longest["region_ns"] - 1)
        lines.append(f"   {longest['name']}, less urgent, may have begun 1ns before and goes on for {goes_on}")
    lines += [f"   blocked by {one['by']}: {format_ns(one['value_ns'])}" for one in document["own"]["blocked_by"]]
    return lines or ["   nobody"]


def _window_lines(document: dict[str, Any]) -> list[str]:
    steps = document["derivation"]
    if steps is None:
        if document["method"] is None:
            return ["   no method found one"]
        window = "" if document["window_ns"] is None else f" in a window of {format_ns(document['window_ns'])}"
        return [f"   {document['method']} counts the terms below{window}"]
    lines = [f"   the longest busy period: {_chain(steps['busy_period_ns'])}"]
    jobs = steps["jobs"]
    worst = max(range(len(jobs)), key=lambda place: jobs[place]["response_ns"])
    near = {worst + distance for distance in range(-_EDGE, _EDGE + 1)}
    shown = sorted(place for place in {*range(_EDGE), *near, len(jobs) - 1} if 0 <= place < len(jobs))
    before = -1
    for place in shown:
        if place > before + 1:
            lines.append(f"   ... {place - before - 1} more, none with a longer response")
        before = place
        lines += _job_lines(jobs[place], steps["last_region_ns"], place == worst)
    if not steps["all_jobs"]:
        lines.append("   others were looked at too; none has a longer response")
    return lines


def _job_lines(job: dict[str, Any], last_region_ns: int, worst: bool) -> list[str]:
    arrival = format_ns(job["arrival_ns"])
    ends = format_ns(job["finish_ns"])
    begins = f"its last region begins: {_chain(job['windows_ns'])}; " if last_region_ns > 1 else ""
    window = begins + (f"ends at {ends}" if begins else f"ends: {_chain(job['windows_ns'])}")
    held = f", held up for {format_ns(job['blocking_ns'])}" if job["blocking_ns"] else ""
    mark = "  <- the worst" if worst else ""
    if job["finish_ns"] <= job["arrival_ns"]:
        return [f"   job {job['job']} would arrive at {arrival}, when all that counts is done: {window}"]
    return [
        f"   job {job['job']} arrives at {arrival}{held}; {window}",
        f"      response {ends} - {arrival} = {format_ns(job['response_ns'])}{mark}",
    ]


def _chain(values: Sequence[int]) -> str:
    """Iterates of a fixed point."""
    shown = [format_ns(value) for value in values]
    if len(shown) > _MOST_SHOWN:
        shown = [*shown[:_EDGE], "...", *shown[-_EDGE:]]
    return " -> ".join(shown)


def _term_lines(document: dict[str, Any]) -> list[str]:
    lines = []
    for term in document["terms"]:
        by = f" ({term['by']})" if term["by"] else ""
        count = f" = {term['jobs']} x {format_ns(term['each_ns'])}" if term["jobs"] is not None else ""
        lines.append(f"   {term['kind'].replace('_', ' ')}{by}: {format_ns(term['value_ns'])}{count}")
    if not lines:
        return ["   there is none"]
    return [*lines, f"   together {format_ns(document['response_bound_ns'])}"]
