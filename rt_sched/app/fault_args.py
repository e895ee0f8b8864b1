"""The `--fault` option: KIND:NAME@TIME, checked against the system."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from rt_sched.errors import ConfigError, Problem
from rt_sched.model import Fault, FaultKind, System
from rt_sched.units import MAX_TIME_NS, floor_int, format_ns, parse_time


def parse_faults(arguments: Sequence[str], system: System) -> tuple[Fault, ...]:
    """Faults in order of time, each once. Raises ConfigError with every mistake at once."""
    faults: list[Fault] = []
    problems: list[Problem] = []
    for argument in arguments:
        try:
            faults.append(_parse(argument, system))
        except ValueError as error:
            problems.append(Problem("--fault", 0, 0, argument, str(error)))
    if problems:
        raise ConfigError(problems)
    return tuple(sorted(dict.fromkeys(faults), key=lambda fault: (fault.time_ns, fault.kind.value, fault.target)))


def check_fault_times(faults: Sequence[Fault], end_ns: int) -> None:
    """Raises ConfigError for every fault at or after the end of the run."""
    late = [fault for fault in faults if fault.time_ns >= end_ns]
    if late:
        raise ConfigError(
            [
                Problem("--fault", 0, 0, f"{fault}@{format_ns(fault.time_ns)}", f"the run ends at {format_ns(end_ns)}")
                for fault in late
            ]
        )


def _parse(argument: str, system: System) -> Fault:
    what, at, when = argument.rpartition("@")
    kind_text, colon, target = what.partition(":")
    if not at or not colon or not target:
        raise ValueError("write KIND:NAME@TIME, such as camera:front_wide@1.5s or device:orin-1@2s")
    try:
        kind = FaultKind(kind_text)
    except ValueError:
        valid = ", ".join(k.value for k in FaultKind)
        raise ValueError(f"unknown kind of fault {kind_text!r}; valid: {valid}") from None
    if kind is FaultKind.DEVICE:
        names = [device.name for device in system.devices]
    elif kind is FaultKind.LINK:
        names = [link.name for link in system.links]
    else:
        names = [sensor.name for sensor in system.sensors if sensor.kind.value == kind.value]
    if target not in names:
        close = difflib.get_close_matches(target, names, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise ValueError(f"{system.name} has no {kind.value} {target!r}; valid: {', '.join(names) or 'none'}{hint}")
    time = parse_time(when)
    if not 0 <= time <= MAX_TIME_NS:
        raise ValueError(f"{when!r} is not a time after the start of the run")
    return Fault(kind, target, floor_int(time))
