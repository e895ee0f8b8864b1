"""The checker's time grows with the length of a trace, not with its square."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from kernel_systems import ALL_FEATURES, random_system

from rt_sched.sim import Simulation
from rt_sched.trace import Trace
from rt_sched.trace.checker import check_trace

SHORT_JOBS, LONGER = 1_000, 8


def run(seed: int, jobs: int) -> Trace:
    """About so many jobs of a random system whose events do not thin out, because nothing is lost."""
    given = replace(random_system(seed, ALL_FEATURES), faults=())
    trial_ns = 2_000
    trial = Simulation(replace(given, horizon_ns=trial_ns))
    trial.run()
    simulation = Simulation(replace(given, horizon_ns=trial_ns * jobs // len(trial.trace().jobs)))
    simulation.run()
    return simulation.trace()


def check_s(trace: Trace) -> float:
    begun = time.process_time()
    assert check_trace(trace).ok
    return time.process_time() - begun


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(10, id="mode switches of criticality, and aborts"),
        pytest.param(92, id="ceilings under EDF"),
        pytest.param(38, id="frequency changes and nested sections"),
        pytest.param(23, id="several cores and servers"),
    ],
)
def test_time_is_linear_in_the_number_of_jobs(seed: int) -> None:
    short, long = run(seed, SHORT_JOBS), run(seed, SHORT_JOBS * LONGER)
    assert len(long.events) > 3 * LONGER * SHORT_JOBS // 8
    check_s(short)
    # A square would be 64 times; scatter and what does not depend on the length leave room.
    assert check_s(long) < 3 * LONGER * min(check_s(short) for _ in range(3))
