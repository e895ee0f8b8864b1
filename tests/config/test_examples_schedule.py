"""The shipped system files keep every deadline and chain limit when every job takes its worst case, in any phase."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system
from rt_sched.lowering import Execution, lower
from rt_sched.model import System
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace.chains import measure_chain
from rt_sched.trace.records import SampleTable, Trace
from rt_sched.trace.statistics import measure_tasks
from rt_sched.units import NS_PER_MS, NS_PER_S, floor_int

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.yaml"))
HORIZON_NS = 2 * NS_PER_S


def _samples(system: System, seed: int | None) -> SampleTable:
    """Sensors in phase with each other (seed None) or at random phases; arrivals anywhere within their jitter."""
    rng = np.random.default_rng(seed)
    rows = []
    for index, sensor in enumerate(system.sensors):
        phase = 0 if seed is None else int(rng.integers(0, 100 * NS_PER_MS))
        number = 0
        while (capture := phase + floor_int(number * NS_PER_S / sensor.rate_hz)) < HORIZON_NS:
            jitter = int(rng.integers(-sensor.jitter_ns, sensor.jitter_ns + 1))
            rows.append((capture + sensor.latency_ns + jitter, index, number, capture))
            number += 1
    arrival, sensor_index, numbers, captures = np.array(sorted(rows), np.int64).T
    status = np.zeros(len(rows), np.int8)
    return SampleTable(sensor_index.astype(np.int32), numbers, arrival, captures, status)


def _simulate(system: System, seed: int | None, policy: str) -> Trace:
    plan = make_plan(system, policy)
    samples = _samples(system, seed)
    simulation = Simulation(lower(system, plan, samples, horizon_ns=HORIZON_NS, execution=Execution.WCET))
    simulation.run()
    return simulation.trace()


@pytest.mark.parametrize("policy", ["rms", "dm", "opa", "edf"])
@pytest.mark.parametrize("seed", [None, 1, 2, 3])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_limits_hold_at_worst_case_times(path: Path, seed: int | None, policy: str) -> None:
    system = load_system(path, stages=ImportedStages())
    trace = _simulate(system, seed, policy)
    for task in measure_tasks(trace):
        assert (task.name, task.misses, task.drops) == (task.name, 0, 0)
        assert task.jobs > 0
    for chain in system.chains:
        measured = measure_chain(trace, chain.path)
        for spread, limit_ns in (
            (measured.reaction, chain.max_reaction_ns),
            (measured.latency, chain.max_latency_ns),
            (measured.data_age, chain.max_data_age_ns),
        ):
            assert spread.max_ns is not None and limit_ns is not None
            assert spread.max_ns <= limit_ns, chain.name
        assert measured.lost == 0 or system.deployments, "only the network of the small host leaves frames out"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_healthy_views_are_younger_than_the_arbiters_limits(path: Path) -> None:
    """Else it would call a sensor stale that is not. Cameras are triggered together, as in the rig."""
    system = load_system(path, stages=ImportedStages())
    arbiter = next(task for task in system.tasks if task.name == "arbiter")
    limits_ms = dict(arbiter.parameters)["view_age_limit_ms"]
    trace = _simulate(system, None, system.policy)
    for chain in system.chains:
        if chain.path[0] not in limits_ms:
            continue  # it feeds the backup only, whose commands have a limit of their own
        age_ns = measure_chain(trace, chain.path).data_age.max_ns
        assert age_ns is not None
        assert age_ns < limits_ms[chain.path[0]] * NS_PER_MS
