"""When the faults of a script begin and end in a run: events become instants before it begins.

A lockstep run is known in advance up to the first fault, so what sets a fault off is found in what the sensors send and
in the schedule without faults.
"""

from __future__ import annotations

from collections.abc import Callable

from rt_sched.errors import ConfigError
from rt_sched.faults.script import Event, FaultScript, Injection, Strike, Trigger
from rt_sched.units import format_ns

#: The instant of the n-th message of a sensor, or job of a task; None where it never comes.
InstantOf = Callable[[str, int], int | None]


def strikes_of(script: FaultScript, file: str, end_ns: int, sample_ns: InstantOf, job_ns: InstantOf) -> list[Strike]:
    """Every fault with its instants, in order of their begin. `end_ns`: of the run.

    Raises ConfigError for every fault that would never begin.
    """
    by_name = {fault.name: fault for fault in script.faults}
    problems, strikes = [], []

    def begin_of(trigger: Trigger) -> int | None:
        if trigger.event is Event.SAMPLE:
            event_ns = sample_ns(trigger.of, trigger.number)
        elif trigger.event is Event.JOB:
            event_ns = job_ns(trigger.of, trigger.number)
        else:
            event_ns = 0 if trigger.event is None else begin_of(by_name[trigger.of].trigger)
        return None if event_ns is None else event_ns + trigger.time_ns

    for fault in script.faults:
        begin_ns = begin_of(fault.trigger)
        if begin_ns is None:
            problems.append(fault.problem(file, "what sets it off does not happen in this run"))
        elif begin_ns >= end_ns:
            reason = f"it begins at {format_ns(begin_ns)}; the run ends at {format_ns(end_ns)}"
            problems.append(fault.problem(file, reason))
        else:
            strikes.append(Strike(fault, begin_ns, _end(fault, begin_ns), _jobs(fault, job_ns)))
    if problems:
        raise ConfigError(problems)
    return sorted(strikes, key=lambda strike: strike.begin_ns)


def _jobs(fault: Injection, job_ns: InstantOf) -> tuple[tuple[int, int], ...]:
    """Of the jobs that overrun those that come, with their arrivals."""
    numbers = fault.jobs if fault.kind_name == "overrun" else ()
    return tuple((number, at_ns) for number in numbers if (at_ns := job_ns(fault.target, number)) is not None)


def _end(fault: Injection, begin_ns: int) -> int | None:
    lasts_ns = fault.restart_ns if "restart" in fault.kind.keys else fault.lasts_ns
    return None if lasts_ns is None else begin_ns + lasts_ns
