"""Jobs that wait for a shared accelerator: bounds against a plain simulation, tick by tick, and by hand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from rt_sched.analysis.theory.fixed_points import Timing
from rt_sched.analysis.theory.joint_suspension import AskingTask, JointCase, Queue, joint_response_times
from rt_sched.analysis.theory.suspension import suspending_response_times
from rt_sched.errors import AnalysisNotApplicable

FP, FIFO = Queue.FIXED_PRIORITY, Queue.FIFO


@dataclass
class Job:
    """`parts`: what is left, execution and requests by turns, beginning with execution."""

    release: int
    parts: list[int]
    asked: int = field(default=0)


def simulate(tasks: list[AskingTask], queue: Queue, rng: np.random.Generator, horizon: int, *, full: bool) -> list[int]:
    """Largest response of each task in one run with random releases, and demands up to the worst ones."""
    count = len(tasks)
    levels = [i if t.level is None else t.level for i, t in enumerate(tasks)]
    next_arrival = [int(rng.integers(0, t.timing.period_ns)) for t in tasks]
    waiting: list[list[Job]] = [[] for _ in tasks]
    worst, served = [0] * count, None
    for now in range(horizon):
        for i, task in enumerate(tasks):
            if next_arrival[i] == now:
                late = int(rng.integers(0, task.timing.jitter_ns + 1))
                waiting[i].append(Job(now + late, _parts(task, rng, full)))
                next_arrival[i] += task.timing.period_ns + int(rng.choice([0, 0, 1, 5]))
        released = [i for i in range(count) if waiting[i] and waiting[i][0].release <= now]
        for i in released:
            job = waiting[i][0]
            if len(job.parts) % 2 == 0 and not job.asked:
                job.asked = now + 1
        open_requests = [i for i in released if waiting[i][0].asked]
        if served not in open_requests:
            by = (lambda i: levels[i]) if queue is FP else (lambda i: (waiting[i][0].asked, i))
            served = min(open_requests, key=by, default=None)
        running = []
        for core in {t.core for t in tasks}:
            ready = [i for i in released if tasks[i].core == core and not waiting[i][0].asked]
            running += ready[:1]
        for i in [*running, *([] if served is None else [served])]:
            job = waiting[i][0]
            job.parts[0] -= 1
            if job.parts[0] == 0:
                job.parts.pop(0)
                job.asked = 0
                served = None if i == served else served
                if not job.parts:
                    worst[i] = max(worst[i], now + 1 - job.release)
                    waiting[i].pop(0)
    for i, jobs in enumerate(waiting):
        worst[i] = max([worst[i], *(horizon - job.release for job in jobs if job.release < horizon)])
    return worst


def _parts(task: AskingTask, rng: np.random.Generator, full: bool) -> list[int]:
    """Execution and requests by turns; every job executes for at least 1 ns before, between and after requests."""
    pieces = len(task.requests_ns) + 1
    total = task.timing.wcet_ns if full else int(rng.integers(pieces, task.timing.wcet_ns + 1))
    cuts = sorted(int(c) for c in rng.choice(np.arange(1, total), pieces - 1, replace=False)) if pieces > 1 else []
    executed = [b - a for a, b in zip([0, *cuts], [*cuts, total], strict=True)]
    asked = [g if full else int(rng.integers(1, g + 1)) for g in rng.permutation(task.requests_ns)]
    return [int(x) for pair in zip(executed, [*asked, 0], strict=True) for x in pair][:-1]


def random_tasks(rng: np.random.Generator) -> list[AskingTask]:
    count, cores = int(rng.integers(2, 6)), int(rng.integers(1, 3))
    tasks = []
    for _ in range(count):
        period = int(rng.integers(12, 80))
        requests = tuple(int(g) for g in rng.integers(1, max(2, period // 7), int(rng.choice([0, 1, 1, 2]))))
        wcet = int(rng.integers(len(requests) + 1, len(requests) + 2 + period // 6))
        jitter = int(rng.choice([0, 0, period // 6]))
        tasks.append(AskingTask(Timing(wcet, period, period, jitter), int(rng.integers(cores)), requests))
    tasks.sort(key=lambda task: task.timing.period_ns)
    if rng.random() < 0.4:
        tasks = [replace(t, level=int(n)) for t, n in zip(tasks, rng.permutation(count), strict=True)]
    return tasks


@pytest.mark.parametrize("queue", [FP, FIFO])
def test_no_run_exceeds_the_joint_bounds(queue: Queue) -> None:
    rng = np.random.default_rng(101)
    judged = close = 0
    for _ in range(60):
        tasks = random_tasks(rng)
        found = joint_response_times(tasks, queue)
        if all(one is None for one in found):
            continue
        for run in range(4):
            for response, one in zip(simulate(tasks, queue, rng, 500, full=run < 2), found, strict=True):
                if one is not None:
                    assert response <= one.response_ns, tasks
                    judged += 1
                    close += 2 * response >= one.response_ns
    assert judged > 300
    assert close > judged // 3


def test_alone_on_the_accelerator_only_the_service_counts() -> None:
    timings = [Timing(1, 10, 10), Timing(5, 40, 40), Timing(6, 100, 100)]
    tasks = [AskingTask(timings[0]), AskingTask(timings[1], 0, (7,)), AskingTask(timings[2])]
    for queue in Queue:
        found = joint_response_times(tasks, queue)
        windows = [one.response_ns for one in found if one is not None]
        # One request alone may still find one of its own task, ended just now, before it: 7 - 1 by priority.
        wait = 7 + (6 if queue is FP else 0)
        assert windows == suspending_response_times(timings, [0, wait, 0])


def test_two_cores_and_one_accelerator_by_hand() -> None:
    """Each task has a core of its own, so it takes its execution, its services, and the wait for the others'."""
    tasks = [
        AskingTask(Timing(2, 50, 50), 0, (4,)),
        AskingTask(Timing(3, 60, 60), 1, (5, 6)),
        AskingTask(Timing(1, 200, 200), 2, (9,)),
    ]
    # First come, first served: 6 + 9 before 4; 4 + 9 before 5 and before 6; 4 + 6 before 9.
    assert joint_response_times(tasks, FIFO) == [
        JointCase(2 + 19, (19,)),
        JointCase(3 + 18 + 19, (18, 19)),
        JointCase(1 + 19, (19,)),
    ]
    # By priority: 9 - 1 before the first; that and one job of the first before the second; 9 - 1 of its own task, one
    # job of the first and two of the second, which can be pending for 38 of its 60, before the third.
    assert joint_response_times(tasks, FP) == [
        JointCase(2 + 12, (12,)),
        JointCase(3 + 17 + 18, (17, 18)),
        JointCase(1 + 8 + 4 + 22 + 9, (43,)),
    ]


def test_more_jobs_of_others_count_as_their_responses_grow() -> None:
    """What delays a task on its core lets two of its jobs, not one, stand before a request of another core."""
    slow, asking = AskingTask(Timing(10, 100, 100), 0, (10,)), AskingTask(Timing(1, 400, 400), 1, (15,))
    beside = AskingTask(Timing(50, 100, 100), 0)
    assert joint_response_times([slow, asking]) == [JointCase(34, (24,)), JointCase(40, (14 + 10 + 15,))]
    loaded = joint_response_times([beside, slow, asking])
    assert loaded == [JointCase(50, ()), JointCase(84, (24,)), JointCase(50, (14 + 20 + 15,))]


def test_a_task_that_may_not_end_before_the_next_has_no_bound_nor_have_those_it_delays() -> None:
    tasks = [
        AskingTask(Timing(2, 20, 20), 0, (19,)),
        AskingTask(Timing(1, 500, 500), 1, (1,)),
        AskingTask(Timing(1, 500, 500), 1),
    ]
    assert joint_response_times(tasks) == [None, None, None]
    assert joint_response_times(tasks, FIFO)[1:] == [JointCase(21, (20,)), JointCase(2, ())]


def test_bad_requests_and_shared_levels_are_refused() -> None:
    with pytest.raises(AnalysisNotApplicable, match="at least 1 ns"):
        joint_response_times([AskingTask(Timing(1, 9, 9), 0, (0,))])
    shared = [AskingTask(Timing(1, 90, 90), 0, (1,), 3), AskingTask(Timing(1, 90, 90), 0, (1,), 3)]
    with pytest.raises(AnalysisNotApplicable, match="share a level"):
        joint_response_times(shared)
    assert None not in joint_response_times(shared, FIFO)
