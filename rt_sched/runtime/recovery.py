"""When what a takeover restores comes out of a path again, read from a trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rt_sched.trace.records import Bools, JobStatus, Trace


def published_rows(trace: Trace, silent: Sequence[int] = ()) -> Bools:
    """Jobs that completed and published something, bool[n_jobs]. `silent`: rows of those that published nothing."""
    published = np.equal(trace.jobs.status, JobStatus.COMPLETED)
    published[list(silent)] = False
    return np.asarray(published, np.bool_)


def recovered_ns(trace: Trace, tasks: Sequence[str], switch_ns: int, published: Bools) -> int | None:
    """When the first output of the last of `tasks` comes that reflects what the first did from the switch on.

    `tasks`: along the path, each reading the one before it. A job of the first that arrives at the switch or later
    works on the kept message or on a newer one, on the processor where it is then. None: no such output comes.
    """
    jobs = trace.jobs
    index_of = {name: index for index, name in enumerate(trace.task_names)}
    good = published & (jobs.task == index_of[tasks[0]]) & (jobs.arrival_ns >= switch_ns)
    for name in tasks[1:]:
        mine = np.flatnonzero(published & (jobs.task == index_of[name]))
        read = jobs.inputs[mine]
        reflects = ((read >= 0) & good[np.maximum(read, 0)]).any(axis=1)
        good = np.zeros(len(jobs), np.bool_)
        good[mine[reflects]] = True
    ends_ns = jobs.finish_ns[good]
    return int(ends_ns.min()) if len(ends_ns) else None
