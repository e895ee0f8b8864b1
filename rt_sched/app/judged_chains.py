"""Chains as a run can judge them: a fault that takes a part of a chain ends what can be asked of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from rt_sched.lowering import lost_devices, lost_sensors
from rt_sched.model import CauseEffectChain, Fault, System
from rt_sched.trace.chains import ChainMeasurement, measure_chain
from rt_sched.trace.records import Bools, Trace


@dataclass(frozen=True, slots=True)
class JudgedChain:
    """`until_ns`: outputs after that instant do not count, because a fault broke the chain there; None for the end."""

    chain: CauseEffectChain
    measurement: ChainMeasurement
    until_ns: int | None


def judged_chains(
    system: System, trace: Trace, faults: Sequence[Fault], recorded: Collection[str], without_data: Sequence[int]
) -> list[JudgedChain]:
    """Every chain that starts at a task, or at a sensor among `recorded`.

    `without_data`: rows of completed jobs that published nothing.
    """
    published = np.ones(len(trace.jobs), np.bool_)
    published[list(without_data)] = False
    judged = []
    sensors = {sensor.name for sensor in system.sensors}
    for chain in system.chains:
        if chain.path[0] in sensors and chain.path[0] not in recorded:
            continue
        until_ns = _broken_ns(system, chain, faults)
        judged.append(JudgedChain(_limited(system, chain), _measured(trace, chain.path, published, until_ns), until_ns))
    return judged


def _limited(system: System, chain: CauseEffectChain) -> CauseEffectChain:
    """The chain with the command deadline as its latency limit, where it ends in a command and states none itself."""
    safety = system.safety
    if safety is None or chain.max_latency_ns is not None or chain.path[-1] != safety.arbiter:
        return chain
    return dataclasses.replace(chain, max_latency_ns=safety.command_deadline_ns)


def _measured(trace: Trace, path: Sequence[str], published: Bools, until_ns: int | None) -> ChainMeasurement:
    """Without the outputs that repeat old data only because the recording is over: the run goes on a little longer."""
    measured = measure_chain(trace, path, published, until_ns)
    if path[0] not in trace.sensor_names:
        return measured
    over_ns = int(trace.samples.arrival_ns.max(initial=0))
    newest = np.maximum.accumulate(measured.sample_number)
    repeats = (measured.output_ns[1:] > over_ns) & (measured.sample_number[1:] <= newest[:-1])
    if not repeats.any():
        return measured
    fresh = published.copy()
    fresh[measured.output_job[1:][repeats]] = False
    return measure_chain(trace, path, fresh, until_ns)


def _broken_ns(system: System, chain: CauseEffectChain, faults: Sequence[Fault]) -> int | None:
    """When the first part of the chain was lost: its sensor, or the device of one of its tasks."""
    devices = {task.pe[0] for task in system.tasks if task.name in chain.path}
    times = [time_ns for device, time_ns in lost_devices(faults).items() if device in devices]
    sensor_lost_ns = lost_sensors(system, faults).get(chain.path[0])
    if sensor_lost_ns is not None:
        times.append(sensor_lost_ns)
    return min(times, default=None)
