"""Chains as a run can judge them: while a fault has taken a part of a chain, nothing can be asked of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

import numpy as np

from rt_sched.lowering.outages import Outage, Outages, device_outages, link_outages, sensor_outages, united
from rt_sched.lowering.routes import devices_under, routed
from rt_sched.lowering.takeovers import takeovers_in_force
from rt_sched.model import CauseEffectChain, Fault, Plan, PlanChange, System, Takeover
from rt_sched.trace.chain_spans import measure_chain_in
from rt_sched.trace.chains import ChainMeasurement
from rt_sched.trace.records import Bools, Trace


@dataclass(frozen=True, slots=True)
class JudgedChain:
    """`broken`: when faults have taken a part of the chain, or takeovers have one elsewhere. What is read or comes out
    meanwhile does not count, and each part of the run after one begins anew.
    """

    chain: CauseEffectChain
    measurement: ChainMeasurement
    broken: Outages = ()

    @property
    def until_ns(self) -> int | None:
        """Outputs after that instant do not count any more; None: the chain was whole at the end."""
        return self.broken[-1][0] if self.broken and self.broken[-1][1] is None else None

    @property
    def first_broken_ns(self) -> int | None:
        """When it was broken for the first time; None: never."""
        return self.broken[0][0] if self.broken else None


def judged_chains(
    system: System,
    plan: Plan,
    trace: Trace,
    faults: Sequence[Fault],
    recorded: Collection[str],
    without_data: Sequence[int],
    changes: Sequence[PlanChange] = (),
) -> list[JudgedChain]:
    """Every chain that starts at a task, or at a sensor among `recorded`.

    `without_data`: rows of completed jobs that published nothing. `changes`: when takeovers of the plan came into force
    and ended.
    """
    published = np.ones(len(trace.jobs), np.bool_)
    published[list(without_data)] = False
    judged = []
    sensors = {sensor.name for sensor in system.sensors}
    placed, device_of = routed(system, plan), devices_under(plan)
    for chain in system.chains:
        if chain.path[0] in sensors and chain.path[0] not in recorded:
            continue
        broken = united([*_outages(placed, device_of, chain, faults), *_elsewhere(chain, changes)])
        measured = _measured(trace, chain.path, published, _whole(broken, trace.horizon_ns))
        judged.append(JudgedChain(_limited(system, chain), measured, broken))
    return judged


def measured_between(
    trace: Trace, judged: JudgedChain, without_data: Sequence[int], begin_ns: int, last_ns: int
) -> ChainMeasurement | None:
    """What is read and comes out between two instants while the chain is whole; None where it is broken all along."""
    published = np.ones(len(trace.jobs), np.bool_)
    published[list(without_data)] = False
    spans = [
        (max(from_ns, begin_ns), last_ns if until_ns is None else min(until_ns, last_ns))
        for from_ns, until_ns in _whole(judged.broken, trace.horizon_ns)
        if from_ns <= last_ns and (until_ns is None or until_ns >= begin_ns)
    ]
    return _measured(trace, judged.chain.path, published, spans) if spans else None


def _limited(system: System, chain: CauseEffectChain) -> CauseEffectChain:
    """The chain with the command deadline as its latency limit, where it ends in a command and states none itself."""
    safety = system.safety
    if safety is None or chain.max_latency_ns is not None or chain.path[-1] != safety.arbiter:
        return chain
    return dataclasses.replace(chain, max_latency_ns=safety.command_deadline_ns)


def _measured(
    trace: Trace, path: Sequence[str], published: Bools, spans: Sequence[tuple[int, int | None]]
) -> ChainMeasurement:
    """Without the outputs that repeat old data only because the recording is over: the run goes on a little longer."""
    measured = measure_chain_in(trace, path, published, spans)
    if path[0] not in trace.sensor_names:
        return measured
    over_ns = int(trace.samples.arrival_ns.max(initial=0))
    newest = np.maximum.accumulate(measured.sample_number)
    repeats = (measured.output_ns[1:] > over_ns) & (measured.sample_number[1:] <= newest[:-1])
    if not repeats.any():
        return measured
    fresh = published.copy()
    fresh[measured.output_job[1:][repeats]] = False
    return measure_chain_in(trace, path, fresh, spans)


def _whole(broken: Outages, horizon_ns: int) -> list[tuple[int, int | None]]:
    """What is between the times at which a chain was broken: begins, and last instants (None: to the end)."""
    begins_ns = [0, *(end_ns for _, end_ns in broken if end_ns is not None and end_ns <= horizon_ns)]
    ends_ns = [begin_ns for begin_ns, _ in broken]
    return list(zip_longest(begins_ns, ends_ns[: len(begins_ns)]))


def _outages(
    placed: System, device_of: Mapping[str, str], chain: CauseEffectChain, faults: Sequence[Fault]
) -> list[Outage]:
    """When a part of the chain was lost: its sensor, the device of one of its tasks, or a link between them."""
    tasks = {task.name: task for task in placed.tasks}
    devices = {device_of[name] for name in chain.path if name in tasks}
    links = {
        given.link
        for source, reader in pairwise(chain.path)
        for given in tasks[reader].inputs
        if given.source == source and given.link is not None
    }
    found = list(sensor_outages(placed, faults).get(chain.path[0], ()))
    found += [one for device in sorted(devices) for one in device_outages(faults).get(device, ())]
    return found + [one for link in sorted(links) for one in link_outages(faults).get(link, ())]


def _elsewhere(chain: CauseEffectChain, changes: Sequence[PlanChange]) -> list[Outage]:
    """While a takeover has tasks of the chain elsewhere, or stopped, or does without its sensor."""
    steps = takeovers_in_force(changes)
    return [
        (begin_ns, None if following is None else following[0])
        for (begin_ns, takeover), following in zip_longest(steps, steps[1:])
        if takeover is not None and _touches(takeover, chain)
    ]


def _touches(takeover: Takeover, chain: CauseEffectChain) -> bool:
    gone = {move.task for move in takeover.moves} | set(takeover.dropped)
    return bool(gone & set(chain.path)) or any(loss.endswith(f":{chain.path[0]}") for loss in takeover.losses)
