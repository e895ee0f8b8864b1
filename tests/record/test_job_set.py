"""Job sets for schedule-abstraction tools: read back, they are the task set again; what they cannot say is refused."""

from __future__ import annotations

import csv
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.errors import AnalysisNotApplicable
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.model import ArrivalCurve, Policy, SetTask, TaskSet
from rt_sched.record.job_set import job_set_text
from rt_sched.sim import Simulation
from rt_sched.trace.setup import Policy as MachinePolicy
from rt_sched.trace.setup import ProcessorRow, TaskRow

COLUMNS = ("task", "job", "earliest", "latest", "least", "most", "deadline", "priority")


@st.composite
def task_sets(draw) -> TaskSet:  # type: ignore[no-untyped-def]
    tasks = []
    for number in range(draw(st.integers(1, 4))):
        period = draw(st.sampled_from([4, 6, 8, 12]))
        wcet = draw(st.integers(1, 3))
        tasks.append(
            SetTask(
                f"t{number}",
                wcet,
                draw(st.integers(1, 2 * period)),
                draw(st.integers(1, wcet)),
                level=draw(st.integers(0, 2)),
                period_ns=period,
                jitter_ns=draw(st.integers(0, 3)),
                offset_ns=draw(st.none() | st.integers(0, period - 1)),
            )
        )
    policy = draw(st.sampled_from([Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO]))
    return TaskSet("drawn", policy, draw(st.booleans()), tuple(tasks))


def jobs_of(task_set: TaskSet) -> list[dict[str, int]]:
    lines = job_set_text(task_set).splitlines()
    return [dict(zip(COLUMNS, map(int, row), strict=True)) for row in csv.reader(lines[1:])]


@settings(max_examples=60, deadline=None)
@given(task_set=task_sets())
def test_what_is_read_back_is_the_task_set(task_set: TaskSet) -> None:
    jobs = jobs_of(task_set)
    assert [job["job"] for job in jobs] == list(range(1, len(jobs) + 1))
    horizon_ns = int(np.lcm.reduce([task.period_ns or 1 for task in task_set.tasks]))
    for number, task in enumerate(task_set.tasks, start=1):
        mine = [job for job in jobs if job["task"] == number]
        first = mine[0]
        assert len(mine) * (task.period_ns or 1) == horizon_ns
        assert {b["earliest"] - a["earliest"] for a, b in pairwise(mine)} <= {task.period_ns}
        found = SetTask(
            f"t{number - 1}",
            first["most"],
            first["deadline"] - first["earliest"],
            first["least"],
            level=task.level,
            period_ns=task.period_ns,
            jitter_ns=first["latest"] - first["earliest"],
            offset_ns=None if task.offset_ns is None else first["earliest"],
        )
        assert found == task


@settings(max_examples=60, deadline=None)
@given(task_set=task_sets())
def test_priorities_order_jobs_as_the_policy_does(task_set: TaskSet) -> None:
    """All jobs of the file, released at once, run in the order of their priorities: the kernel's own order."""
    jobs = jobs_of(task_set)
    rows = tuple(
        TaskRow(
            str(job["job"]),
            0,
            job["deadline"] if task_set.policy is Policy.EDF else 1000,
            1,
            level=job["priority"] if task_set.policy is Policy.FIXED_PRIORITY else 0,
            explicit_arrivals_ns=(job["earliest"] if task_set.policy is Policy.FIFO else 0,),
        )
        for job in jobs
    )
    processor = ProcessorRow("core", MachinePolicy[task_set.policy.name], False)
    simulation = Simulation(MachineInput((processor,), (), rows, (), 2000))
    simulation.run()
    records = simulation.trace().jobs
    order = records.task[np.argsort(records.finish_ns, kind="stable")].tolist()
    priorities = [jobs[place]["priority"] for place in order]
    assert priorities == sorted(priorities)


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (SetTask("a", 1, 5, 1, separation_ns=5), "task a: its arrivals are sporadic"),
        (SetTask("a", 1, 5, 1, curve=ArrivalCurve(5, ((1, 1),))), "task a: its arrivals are given by an arrival curve"),
        (
            SetTask("a", 1, 5, 1, period_ns=1_000_003),
            "one hyperperiod, 3000009 ns, has 1000006 jobs, and a job set at most 1000005",
        ),
    ],
)
def test_what_has_no_job_set_is_refused(task: SetTask, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rt_sched.record.job_set.MOST_JOBS", 1_000_005)
    other = SetTask("b", 1, 5, 1, period_ns=3)
    with pytest.raises(AnalysisNotApplicable, match=words):
        job_set_text(TaskSet("set", Policy.EDF, True, (task, other)))
