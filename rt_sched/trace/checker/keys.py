"""Keys (semantics 4): what orders the jobs of a ready queue, before and after servers, ceilings and inheritance."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from rt_sched.trace.checker.history import History
from rt_sched.trace.records import Int64s
from rt_sched.trace.setup import Policy, ProcessorRow

#: How a key develops: (instant, key from then on), ascending; before the first instant the own key holds.
KeySteps = list[tuple[int, int]]


def preempts(processor: ProcessorRow) -> bool:
    """Whether a strictly better job may take the core of a running one."""
    return processor.preemptive and processor.policy is not Policy.FIFO


def own_keys(history: History) -> Int64s:
    """int64[n jobs]: level, absolute deadline or release, as the policy of the processor says; smaller is better."""
    jobs = history.trace.jobs
    keys = history.per_job(lambda task: task.level)
    policy = np.array([processor.policy for processor in history.setup.processors], np.int64)[history.row]
    keys = np.where(policy == Policy.EDF, jobs.deadline_ns, keys)
    return np.asarray(np.where(policy == Policy.FIFO, jobs.release_ns, keys), np.int64)


def key_at(steps: KeySteps | None, own: int, time_ns: int) -> int:
    """The key that holds from an instant on."""
    if not steps:
        return own
    place = bisect_right(steps, (time_ns, 2**63)) - 1
    return own if place < 0 else steps[place][1]


def add_step(steps: KeySteps, time_ns: int, key: int) -> None:
    """Append a change; of several at one instant the last holds."""
    if steps and steps[-1][0] == time_ns:
        steps[-1] = (time_ns, key)
    else:
        steps.append((time_ns, key))
