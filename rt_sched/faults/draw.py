"""Campaigns: scripts of one fault each, drawn from a seed; run i of a seed is the same in a campaign of any length."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from rt_sched.faults.kinds import BY_NAME, KINDS, LASTS, NEED_LOG_TIME, Kind, Strikes
from rt_sched.faults.script import Damage, Event, FaultScript, Injection, Trigger
from rt_sched.model import ArrivalClock, System
from rt_sched.units import NS_PER_MS

#: Faults begin in this part of a run, so that monitors have learned what is usual and have time to notice: num / den.
EARLIEST, LATEST = (1, 2), (3, 4)
_DELAYS_MS, _STALLS_MS, _RESTARTS_MS = (5, 200), (5, 300), (20, 400)
_STEPS_MS = (3, 500)
_RADII_PX = (4, 20)
_WIDTHS_DEG = (20, 180)


def drawn_scripts(
    system: System,
    active: Collection[str],
    jobs: Mapping[str, int],
    horizon_ns: int,
    runs: int,
    seed: int,
    kinds: Sequence[str] = (),
) -> list[FaultScript]:
    """`runs` scripts. `active`: sensors that the recording holds, and tasks that have jobs. `kinds`: empty for all.

    `jobs`: how many jobs each of these tasks has.

    Raises ValueError where nothing in the system can be struck by any of them.
    """
    usable = [
        (kind, targets)
        for kind in (KINDS if not kinds else [BY_NAME[name] for name in kinds])
        if kind.lockstep and (targets := targets_of(system, active, kind))
    ]
    if not usable:
        raise ValueError(f"{system.name} has nothing that any of these kinds of fault could strike")
    return [_drawn(system, usable, jobs, horizon_ns, seed, run) for run in range(runs)]


def targets_of(system: System, active: Collection[str], kind: Kind) -> list[str]:
    """What a kind of fault can strike in a run."""
    if kind.strikes is Strikes.ARBITER:
        return [] if system.safety is None else [system.safety.arbiter]
    if kind.strikes is Strikes.TASK:
        return [task.name for task in system.tasks if task.name in active]
    if kind.strikes is Strikes.DEVICE:
        return [device.name for device in system.devices]
    if kind.strikes is Strikes.LINK:
        return [link.name for link in system.links]
    return [
        sensor.name
        for sensor in system.sensors
        if sensor.name in active
        and kind.strikes in (Strikes.SENSOR, sensor.kind.value)
        and not (kind.name in NEED_LOG_TIME and sensor.arrival_clock is ArrivalClock.CAPTURE)
    ]


def _drawn(
    system: System,
    usable: Sequence[tuple[Kind, list[str]]],
    jobs: Mapping[str, int],
    horizon_ns: int,
    seed: int,
    run: int,
) -> FaultScript:
    rng = np.random.default_rng([seed, run])
    kind, targets = usable[int(rng.integers(len(usable)))]
    target = targets[int(rng.integers(len(targets)))]
    first_ns, last_ns = (horizon_ns * part[0] // part[1] for part in (EARLIEST, LATEST))
    trigger = Trigger(int(rng.integers(first_ns, last_ns, endpoint=True)))

    def time_ns(between_ms: tuple[int, int]) -> int:
        return int(rng.integers(between_ms[0] * NS_PER_MS, between_ms[1] * NS_PER_MS, endpoint=True))

    values: dict[str, Any] = {}
    if kind.name == "overrun":
        task = next(one for one in system.tasks if one.name == target)
        job = min(int(rng.integers(1, 4)), jobs[target] - 1)
        demand_ns = int(rng.integers(2, 10, endpoint=True)) * task.execution.wcet_ns
        return FaultScript(
            (
                Injection(
                    f"run-{run}",
                    kind.name,
                    target,
                    Trigger(0, Event.JOB, target, job),
                    jobs=(job,),
                    demand_ns=demand_ns,
                ),
            ),
            seed,
        )
    if LASTS in kind.keys and rng.integers(2):
        values["lasts_ns"] = time_ns((100, 1000))
    if kind.name == "message.delay":
        values["by_ns"] = time_ns(_DELAYS_MS)
    elif kind.name == "clock.step":
        values["by_ns"] = time_ns(_STEPS_MS) * int(rng.choice([-1, 1]))
    elif kind.name == "lidar.sector":
        begin = int(rng.integers(-180, 180))
        end = begin + int(rng.integers(*_WIDTHS_DEG, endpoint=True))
        values |= {"from_deg": Fraction(begin), "to_deg": Fraction((end + 180) % 360 - 180)}
    elif kind.name == "camera.blur":
        values["radius_px"] = int(rng.integers(*_RADII_PX, endpoint=True))
    elif kind.name == "payload.corrupt":
        values["how"] = (Damage.CUT, Damage.FLIP)[int(rng.integers(2))]
    elif kind.name == "process.stall":
        values["stall_ns"] = time_ns(_STALLS_MS)
    elif "restart" in kind.keys and rng.integers(2):
        values["restart_ns"] = time_ns(_RESTARTS_MS)
    return FaultScript((Injection(f"run-{run}", kind.name, target, trigger, **values),), seed)
