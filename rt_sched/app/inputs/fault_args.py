"""The `--fault` option: KIND:NAME@TIME or KIND:NAME@TIME..TIME, checked against the system."""

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
        fault, reasons = _parse(argument, system)
        problems += [Problem("--fault", 0, 0, argument, reason) for reason in reasons]
        if fault is not None:
            faults.append(fault)
    if problems:
        raise ConfigError(problems)
    return tuple(sorted(dict.fromkeys(faults), key=_order))


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


def _order(fault: Fault) -> tuple[int, str, str, int]:
    return fault.time_ns, fault.kind.value, fault.target, MAX_TIME_NS + 1 if fault.until_ns is None else fault.until_ns


def _parse(argument: str, system: System) -> tuple[Fault | None, list[str]]:
    """The fault, or every reason why there is none."""
    what, at, when = argument.rpartition("@")
    kind_text, colon, target = what.partition(":")
    if not at or not colon or not target:
        return None, ["write KIND:NAME@TIME, such as camera:front_wide@1.5s, or device:orin-1@2s..4s for one that ends"]
    reasons = []
    kind = next((one for one in FaultKind if one.value == kind_text), None)
    if kind is None:
        reasons.append(f"unknown kind of fault {kind_text!r}; valid: {', '.join(k.value for k in FaultKind)}")
    elif unknown := _unknown_target(kind, target, system):
        reasons.append(unknown)
    begin_text, ends, end_text = when.partition("..")
    begin_ns, begin_reason = _time(begin_text)
    end_ns, end_reason = _time(end_text) if ends else (None, "")
    reasons += [reason for reason in (begin_reason, end_reason) if reason]
    if begin_ns is not None and end_ns is not None and end_ns <= begin_ns:
        reasons.append(f"it ends at {end_text}, which is not after its begin")
    if reasons or kind is None or begin_ns is None:
        return None, reasons
    return Fault(kind, target, begin_ns, end_ns), []


def _unknown_target(kind: FaultKind, target: str, system: System) -> str:
    """Why there is nothing of that name to lose; empty when there is."""
    if kind is FaultKind.DEVICE:
        names = [device.name for device in system.devices]
    elif kind is FaultKind.LINK:
        names = [link.name for link in system.links]
    else:
        names = [sensor.name for sensor in system.sensors if sensor.kind.value == kind.value]
    if target in names:
        return ""
    close = difflib.get_close_matches(target, names, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"{system.name} has no {kind.value} {target!r}; valid: {', '.join(names) or 'none'}{hint}"


def _time(text: str) -> tuple[int | None, str]:
    """Nanoseconds after the start of the run, or the reason why the text is no such time."""
    try:
        time = parse_time(text)
    except ValueError as error:
        return None, str(error)
    if not 0 <= time <= MAX_TIME_NS:
        return None, f"{text!r} is not a time after the start of the run"
    return floor_int(time), ""
