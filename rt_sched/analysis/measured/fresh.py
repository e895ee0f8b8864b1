"""Jobs that know nothing of what was before an instant: neither they nor what they read, directly or through others."""

from __future__ import annotations

import numpy as np

from rt_sched.trace.records import Bools, Trace, sample_of


def fresh_jobs(trace: Trace, since_ns: int) -> Bools:
    """bool[n_jobs]: jobs that arrived from an instant on, and so did all jobs whose data they read, whose samples were
    captured from then on. To them a run begins at that instant: registers hold nothing older.
    """
    jobs = trace.jobs
    since = jobs.arrival_ns >= since_ns
    let = np.zeros(len(trace.task_names), np.bool_)
    if trace.setup is not None:
        let[:] = [row.let for row in trace.setup.tasks]
    read_ns = np.where(let[jobs.task], jobs.arrival_ns, jobs.start_ns)
    sampled = trace.samples.capture_ns >= since_ns
    fresh = np.zeros(len(jobs), np.bool_)
    rows = np.flatnonzero(since & (read_ns >= 0))
    # What a job reads was read by others before.
    for row in rows[np.argsort(read_ns[rows], kind="stable")].tolist():
        inputs = jobs.inputs[row]
        of_jobs, of_samples = inputs[inputs >= 0], inputs[inputs < -1]
        fresh[row] = bool(fresh[of_jobs].all() and sampled[sample_of(of_samples)].all())
    return fresh
