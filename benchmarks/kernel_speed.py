"""Speed of the scheduling kernel on a system file: events per second in bulk, time per event when stepped.

    python benchmarks/kernel_speed.py [SYSTEM.yaml] [--seconds VIRTUAL_SECONDS] [--repeat N]

Sensors deliver at their nominal rates, each sample at its latency plus a seeded part of its jitter. Events are those
that the stepped mode emits for the same run. Every figure is the best of N runs, and tables are large enough from the
start, as they are in the second run of a sweep.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system
from rt_sched.lowering import Execution, lower
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.model import System
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace.records import SampleStatus, SampleTable

ROOT = Path(__file__).resolve().parents[1]


def nominal_samples(system: System, horizon_ns: int, seed: int = 1) -> SampleTable:
    """Samples of all sensors up to the horizon, in order of arrival."""
    rng = np.random.default_rng(seed)
    parts = []
    for index, sensor in enumerate(system.sensors):
        count = int(horizon_ns * sensor.rate_hz / 10**9) + 1
        period = 10**9 / sensor.rate_hz
        capture = sensor.offset_ns + np.array([int(k * period) for k in range(count)], np.int64)
        arrival = capture + sensor.latency_ns + rng.integers(0, sensor.jitter_ns + 1, count)
        parts.append((arrival, np.full(count, index), np.arange(count), capture))
    arrival, sensor_index, number, capture = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((sensor_index, arrival))
    return SampleTable(
        sensor=sensor_index[order].astype(np.int32),
        number=number[order],
        arrival_ns=arrival[order],
        capture_ns=capture[order],
        status=np.full(len(order), SampleStatus.WAITING, np.int8),
    )


def lowered(path: Path, horizon_ns: int, execution: Execution) -> MachineInput:
    """The machine input of a system file under its own policy."""
    system = load_system(path, stages=ImportedStages())
    return lower(
        system,
        make_plan(system),
        nominal_samples(system, horizon_ns),
        horizon_ns=horizon_ns,
        seed=1,
        execution=execution,
    )


def bulk_s(given: MachineInput, rows: int) -> float:
    """Seconds of one run in bulk."""
    simulation = Simulation(given, rows)
    start = time.perf_counter()
    simulation.run()
    return time.perf_counter() - start


def stepped_s(given: MachineInput, rows: int) -> tuple[float, int, int]:
    """Seconds of one stepped run, its instants and its events."""
    simulation = Simulation(given, rows)
    instants = events = 0
    start = time.perf_counter()
    while (rows_now := simulation.step()) is not None:
        instants += 1
        events += len(rows_now)
    return time.perf_counter() - start, instants, events


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", nargs="?", type=Path, default=ROOT / "examples" / "quad_orin.yaml")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{arguments.system.name}, {arguments.seconds} s of virtual time, best of {arguments.repeat}")
    print(f"{'demands':>8} {'jobs':>8} {'instants':>9} {'events':>8} {'bulk':>16} {'stepped':>14} {'an instant':>12}")
    for execution in (Execution.WCET, Execution.PROFILE):
        given = lowered(arguments.system, arguments.seconds * 10**9, execution)
        first = Simulation(given)
        first.run()
        rows = 2 * len(first.jobs) + 4096
        bulk = min(bulk_s(given, rows) for _ in range(arguments.repeat))
        stepped, instants, events = min(stepped_s(given, rows) for _ in range(min(arguments.repeat, 2)))
        print(
            f"{execution.value:>8} {len(first.jobs):>8} {instants:>9} {events:>8} {events / bulk / 1e6:>8.2f} M event/s"
            f" {stepped / events * 1e6:>6.2f} us/event {stepped / instants * 1e6:>6.2f} us"
        )


if __name__ == "__main__":
    main()
