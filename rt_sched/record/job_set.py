"""The jobs of one hyperperiod of a task set, in the CSV form that schedule-abstraction-graph tools read.

One line a job: Task ID, Job ID, Arrival min, Arrival max, Cost min, Cost max, Deadline, Priority. Times are whole
nanoseconds; the smaller the priority, the more urgent: the level under fixed priorities, the absolute deadline under
EDF, the earliest release under FIFO. Task and job IDs count from 1, jobs through all tasks.
"""

from __future__ import annotations

from math import lcm
from pathlib import Path

from rt_sched.errors import AnalysisNotApplicable, DeploymentError
from rt_sched.model import Policy, SetTask, TaskSet

HEADER = "Task ID, Job ID, Arrival min, Arrival max, Cost min, Cost max, Deadline, Priority"
#: More jobs than this are no use to the tools that read them.
MOST_JOBS = 1_000_000


def job_set_text(task_set: TaskSet) -> str:
    """The jobs that arrive within one hyperperiod from each task's offset on; offsets that are not given are 0.

    Raises AnalysisNotApplicable where arrivals are not known instants, or there are too many jobs.
    """
    for task in task_set.tasks:
        if task.period_ns is None:
            kind = "sporadic" if task.curve is None else "given by an arrival curve"
            raise AnalysisNotApplicable(
                f"task {task.name}: its arrivals are {kind}; a job set needs known instants, so periods for all tasks"
            )
    periods = [task.period_ns or 1 for task in task_set.tasks]
    hyperperiod_ns = lcm(*periods)
    count = sum(hyperperiod_ns // period_ns for period_ns in periods)
    if count > MOST_JOBS:
        raise AnalysisNotApplicable(
            f"one hyperperiod, {hyperperiod_ns} ns, has {count} jobs, and a job set at most {MOST_JOBS}; "
            "choose periods that divide each other"
        )
    lines = [HEADER]
    for number, task in enumerate(task_set.tasks, start=1):
        for job in range(hyperperiod_ns // (task.period_ns or 1)):
            lines.append(_line(task_set.policy, number, len(lines), task, job))
    return "\n".join(lines) + "\n"


def _line(policy: Policy, number: int, job_id: int, task: SetTask, job: int) -> str:
    arrival_ns = (task.offset_ns or 0) + job * (task.period_ns or 1)
    due_ns = arrival_ns + task.deadline_ns
    priority = {Policy.EDF: due_ns, Policy.FIFO: arrival_ns}.get(policy, task.level)
    values = (number, job_id, arrival_ns, arrival_ns + task.jitter_ns, task.bcet_ns, task.wcet_ns, due_ns, priority)
    return ", ".join(map(str, values))


def write_job_set(task_set: TaskSet, path: Path) -> None:
    """As `job_set_text`, into a file; raises DeploymentError when that cannot be written."""
    text = job_set_text(task_set)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DeploymentError(f"{path}: cannot be written ({error.strerror})") from error
