"""Results of all batch functions on fixed random sets, as lists: for runs that must agree."""

from __future__ import annotations

import numpy as np

from rt_sched.analysis.batch import edf_response_times, edf_schedulable, fp_response_times


def rows() -> list[list[list[int]]]:
    rng = np.random.default_rng(17)
    results = []
    for _ in range(12):
        period = np.sort(rng.integers(20, 400, (6, 5)) * 10 ** int(rng.integers(0, 12)), axis=1)
        wcet = np.maximum((period * rng.dirichlet(np.ones(5), 6) * 0.97).astype(np.int64), 1)
        deadline = np.maximum((period * rng.uniform(0.5, 2.0, (6, 5))).astype(np.int64), 1)
        jitter = (period * rng.uniform(0, 1.5, (6, 5))).astype(np.int64) * rng.integers(0, 2)
        for preemptive in (True, False):
            for analyse in (fp_response_times, edf_schedulable, edf_response_times):
                result = analyse(wcet, period, deadline, jitter, preemptive=preemptive)
                results.append([result.response_ns.tolist(), result.status.tolist(), result.schedulable.tolist()])
    return results
