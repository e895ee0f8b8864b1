"""Response times and demand tests over plain integer arrays: one task set a row, status codes, no exceptions.

The conventions of all kernels of this package:

- Every time is an int64 of nanoseconds within `common.LIMIT_NS`, every wcet at most its period unless the set is marked
  as overloaded, and every sum is compared with `common.WINDOW_LIMIT_NS` before it can leave int64. The wrapper checks
  the ranges.
- A task with wcet 0 is no task: it pads a row, interferes with nothing and responds in 0.
- A release jitter delays a release after its arrival; responses count from the arrival.
- `region_ns` is the length of the last region in which a job cannot be preempted: 1 for a preemptive job, whose last
  nanosecond is a region of its own, and the wcet for a non-preemptive one. So one fixed point serves all three kinds of
  preemption.
- A status is one of `common.OK`, `UNBOUNDED`, `NOT_CONVERGED`, `OUT_OF_RANGE`; a response without OK is -1.
"""
