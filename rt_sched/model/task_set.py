"""A set of independent tasks on one processor, as papers and analysis tools state it."""

from __future__ import annotations

from dataclasses import dataclass

from rt_sched.model.platform import Policy


@dataclass(frozen=True, slots=True)
class ArrivalCurve:
    """Most arrivals in a window of any length, as steps up to a horizon that repeats.

    `steps`: (length_ns, jobs), both ascending, the first length 1: a half-open window of at least `length_ns` sees up
    to `jobs` arrivals. A window of k whole horizons and a rest sees k times the jobs of the last step and those of the
    rest.
    """

    horizon_ns: int
    steps: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SetTask:
    """One task of a set. Exactly one of `period_ns`, `separation_ns` (sporadic) and `curve` says how jobs arrive.

    `level`: 0 is the most urgent; tasks may share one. `offset_ns`: of a periodic task whose arrivals are known
    instants. `jitter_ns`: the release follows the arrival by at most this. `deadline_ns` counts from the arrival.
    """

    name: str
    wcet_ns: int
    deadline_ns: int
    bcet_ns: int
    level: int = 0
    period_ns: int | None = None
    separation_ns: int | None = None
    curve: ArrivalCurve | None = None
    jitter_ns: int = 0
    offset_ns: int | None = None


@dataclass(frozen=True, slots=True)
class TaskSet:
    """Tasks on one core under one policy, preemptive at any instant or never."""

    name: str
    policy: Policy
    preemptive: bool
    tasks: tuple[SetTask, ...]
