"""When the loss of a sensor, device or link is noticed in a run, and when what was lost is trusted again.

A timer runs for each from the start of the run. Every message, or sign of life, restarts it; one at the very instant at
which it would run out is in time. What was silent is trusted again once nothing has been late for `return_after_ns`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rt_sched.analysis.faults.takeover_detection import (
    concept_of,
    heartbeat_timeout_ns,
    silence_timeout_ns,
    way_ns,
)
from rt_sched.errors import ConfigError, Problem
from rt_sched.lowering.outages import Outages, device_outages, link_outages, sensor_outages
from rt_sched.model import Fault, FaultKind, System
from rt_sched.trace.records import SampleTable
from rt_sched.units import format_ns

#: How many timeouts may fit into a run in which a device or a link is lost.
_MOST_TIMEOUTS = 10**7

Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Notice:
    """At `time_ns` it is noticed that `what`, such as "device:orin-1", is lost, or that it is there again.

    `by`: "silence" of messages, or "heartbeat" for signs of life.
    """

    time_ns: int
    what: str
    lost: bool
    by: str


def notices(
    system: System,
    samples: SampleTable,
    faults: Sequence[Fault],
    recorded: Collection[str],
    horizon_ns: int,
    over_ns: int = 0,
) -> tuple[Notice, ...]:
    """Everything that is noticed, in order of time.

    `samples`: what the sensors send if nothing is injected; `recorded`: the sensors that are watched, until the last
    message of any, or until `over_ns` where more would have come. Nothing is noticed from the loss of the arbiter's
    device on: it is there that everything is watched. Raises ConfigError for heartbeats too short for such a run.
    """
    over_ns = max(over_ns, int(samples.arrival_ns.max(initial=0)))
    end_ns = min([horizon_ns, *(begin_ns for begin_ns, _ in _outages_of_watcher(system, faults))])
    found = [*_sensors(system, samples, faults, recorded, over_ns), *_devices_and_links(system, faults, horizon_ns)]
    return tuple(sorted((one for one in found if one.time_ns < end_ns), key=lambda one: (one.time_ns, one.what)))


def watching_device(system: System) -> str | None:
    """The device of the arbiter, which watches all others; None without a safety concept."""
    arbiter = None if system.safety is None else system.safety.arbiter
    return next((task.pe[0] for task in system.tasks if task.name == arbiter), None)


def _outages_of_watcher(system: System, faults: Sequence[Fault]) -> Outages:
    return device_outages(faults).get(watching_device(system) or "", ())


def _sensors(
    system: System, samples: SampleTable, faults: Sequence[Fault], recorded: Collection[str], over_ns: int
) -> Iterator[Notice]:
    silent = sensor_outages(system, faults)
    for index, sensor in enumerate(system.sensors):
        if sensor.name in recorded:
            sent_ns = samples.arrival_ns[samples.sensor == index]
            signs_ns = _outside(sent_ns, silent.get(sensor.name, ()))
            # What is captured just when the run begins is this long on its way.
            first_ns = sensor.latency_ns + sensor.jitter_ns
            timeout_ns = silence_timeout_ns(system, sensor)
            yield from _watched(
                system, f"{sensor.kind.value}:{sensor.name}", "silence", signs_ns, first_ns, timeout_ns, over_ns
            )


def _devices_and_links(system: System, faults: Sequence[Fault], horizon_ns: int) -> Iterator[Notice]:
    """Those that a fault takes away: signs of life of all others come all the time."""
    watcher = watching_device(system)
    for kind, lost in ((FaultKind.DEVICE, device_outages(faults)), (FaultKind.LINK, link_outages(faults))):
        for name, outages in lost.items():
            if kind is not FaultKind.DEVICE or name != watcher:
                signs_ns = _beats(system, outages, horizon_ns) + way_ns(system, Fault(kind, name, 0))
                yield from _watched(
                    system, f"{kind.value}:{name}", "heartbeat", signs_ns, 0, heartbeat_timeout_ns(system), horizon_ns
                )


def _outside(times_ns: Int64, outages: Outages) -> Int64:
    kept = np.ones(len(times_ns), np.bool_)
    for begin_ns, end_ns in outages:
        kept &= (times_ns < begin_ns) | (times_ns >= (np.iinfo(np.int64).max if end_ns is None else end_ns))
    return times_ns[kept]


def _watched(
    system: System, what: str, by: str, signs_ns: Int64, first_ns: int, timeout_ns: int, end_ns: int
) -> Iterator[Notice]:
    """The notices before `end_ns` about one thing; `first_ns`: what counts as its first sign."""
    signs_ns = np.concatenate(([min(first_ns, end_ns)], np.sort(signs_ns)))
    gaps = np.flatnonzero(np.diff(signs_ns) > timeout_ns)
    begins_ns = signs_ns[np.concatenate(([0], gaps + 1))].tolist()
    silences_ns = (signs_ns[np.concatenate((gaps, [len(signs_ns) - 1]))] + timeout_ns).tolist()
    for number, (begin_ns, silent_ns) in enumerate(zip(begins_ns, silences_ns, strict=True)):
        trusted_ns = begin_ns + concept_of(system).return_after_ns if number else None
        if trusted_ns is not None and trusted_ns < min(silent_ns, end_ns):
            yield Notice(trusted_ns, what, False, by)
        if (trusted_ns is None or trusted_ns < silent_ns) and silent_ns < end_ns:
            yield Notice(silent_ns, what, True, by)


def _beats(system: System, outages: Outages, horizon_ns: int) -> Int64:
    """Signs of life before the horizon and outside the outages: of each stretch the first and the last, and those in
    between that no more than a timeout parts; more would change no notice.

    Raises ConfigError where they would still be too many.
    """
    period_ns, timeout_ns = concept_of(system).heartbeat.period_ns, heartbeat_timeout_ns(system)
    if horizon_ns > _MOST_TIMEOUTS * timeout_ns:
        reason = (
            f"a timeout of {format_ns(timeout_ns)} is too short to be watched over a run of {format_ns(horizon_ns)}"
        )
        raise ConfigError([Problem(system.name, 0, 0, "safety.heartbeat", reason)])
    begins_ns = [0, *(horizon_ns if end_ns is None else min(end_ns, horizon_ns) for _, end_ns in outages)]
    ends_ns = [*(min(begin_ns, horizon_ns) for begin_ns, _ in outages), horizon_ns]
    step_ns = timeout_ns // period_ns * period_ns
    found = []
    for begin_ns, end_ns in zip(begins_ns, ends_ns, strict=True):
        first_ns, last_ns = -(-begin_ns // period_ns) * period_ns, (end_ns - 1) // period_ns * period_ns
        if first_ns <= last_ns:
            found += [np.arange(first_ns, last_ns, step_ns, dtype=np.int64), np.array([last_ns], np.int64)]
    return np.concatenate(found) if found else np.zeros(0, np.int64)
