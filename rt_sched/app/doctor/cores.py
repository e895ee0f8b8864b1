"""The processor: cores, siblings, frequencies, idle states, and whether it is a real one."""

from __future__ import annotations

from rt_sched.app.doctor.finding import Finding, Machine, Severity
from rt_sched.runtime.host.affinity import allowed_cores
from rt_sched.runtime.host.cpuset_groups import parse_cores

_AREA = "processor"
_CPU = "sys/devices/system/cpu"
#: An idle state that takes longer to leave is worth a warning.
_LONG_EXIT_US = 20


def core_findings(machine: Machine) -> list[Finding]:
    """Cores, simultaneous multithreading, isolation, governor, turbo, idle states, virtualisation."""
    return [
        _cores(machine),
        *_siblings(machine),
        _isolated(machine),
        _governor(machine),
        *_turbo(machine),
        *_idle_states(machine),
        *_virtual(machine),
    ]


def _cores(machine: Machine) -> Finding:
    online, allowed = parse_cores(machine.read(f"{_CPU}/online") or ""), allowed_cores()
    found = f"{len(online)} online, {len(allowed)} for this process"
    if len(allowed) > 1:
        return Finding(_AREA, "cores", Severity.OK, found)
    costs = "everything shares one core, and none can be kept for SCHED_DEADLINE"
    return Finding(_AREA, "cores", Severity.WARNING, found, costs, "give the process or container more cores")


def _siblings(machine: Machine) -> list[Finding]:
    active = machine.read(f"{_CPU}/smt/active")
    if active is None:
        return []
    if active != "1":
        return [Finding(_AREA, "multithreading", Severity.OK, "off")]
    costs = "a sibling that works lengthens jobs, by half or more"
    mend = f"echo off | sudo tee /{_CPU}/smt/control"
    return [Finding(_AREA, "multithreading", Severity.WARNING, "two threads share a core", costs, mend)]


def _isolated(machine: Machine) -> Finding:
    isolated = machine.read(f"{_CPU}/isolated")
    if isolated:
        return Finding(_AREA, "isolated cores", Severity.OK, isolated)
    costs = "kernel threads and interrupts run on every core"
    mend = "boot with isolcpus=managed_irq,domain,CORES, and irqaffinity= of the others"
    return Finding(_AREA, "isolated cores", Severity.NOTE, "none", costs, mend)


def _governor(machine: Machine) -> Finding:
    governors = {
        machine.read(str(path.relative_to(machine.root)))
        for path in machine.glob(f"{_CPU}/cpufreq/policy*/scaling_governor")
    } - {None}
    if not governors:
        return Finding(
            _AREA, "frequency governor", Severity.NOTE, "none seen: frequencies are not this system's to choose"
        )
    told = ", ".join(sorted(str(name) for name in governors))
    if governors == {"performance"}:
        return Finding(_AREA, "frequency governor", Severity.OK, told)
    costs = "a job after a pause runs slowly at first: execution times hold for no fixed frequency"
    mend = f"echo performance | sudo tee /{_CPU}/cpufreq/policy*/scaling_governor"
    return Finding(_AREA, "frequency governor", Severity.WARNING, told, costs, mend)


def _turbo(machine: Machine) -> list[Finding]:
    """Each place with the value that means on."""
    for place, on in ((f"{_CPU}/intel_pstate/no_turbo", "0"), (f"{_CPU}/cpufreq/boost", "1")):
        value = machine.read(place)
        if value == on:
            costs = "frequencies above the nominal one come and go with heat: measured times may not be met later"
            mend = f"echo {1 - int(on)} | sudo tee /{place}"
            return [Finding(_AREA, "turbo", Severity.NOTE, "on", costs, mend)]
        if value is not None:
            return [Finding(_AREA, "turbo", Severity.OK, "off")]
    return []


def _idle_states(machine: Machine) -> list[Finding]:
    longest, name = 0, ""
    for folder in machine.glob(f"{_CPU}/cpu[0-9]*/cpuidle/state*"):
        place = str(folder.relative_to(machine.root))
        exit_us = machine.number(f"{place}/latency") or 0
        if machine.read(f"{place}/disable") == "0" and exit_us > longest:
            longest, name = exit_us, machine.read(f"{place}/name") or folder.name
    if not name:
        return []
    found = f"the deepest, {name}, takes {longest} us to leave"
    if longest <= _LONG_EXIT_US:
        return [Finding(_AREA, "idle states", Severity.OK, found)]
    costs = "wake-ups on an idle core come later by that"
    mend = f"sudo cpupower idle-set --disable-by-latency {_LONG_EXIT_US}"
    return [Finding(_AREA, "idle states", Severity.WARNING, found, costs, mend)]


def _virtual(machine: Machine) -> list[Finding]:
    lines = (machine.read("proc/cpuinfo") or "").splitlines()
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    if "hypervisor" not in flags:
        return []
    costs = "the host takes cores away unseen: nothing that is measured here bounds what happens"
    return [
        Finding(_AREA, "virtual machine", Severity.WARNING, "yes" + _stolen(machine), costs, "measure on the target")
    ]


def _stolen(machine: Machine) -> str:
    """What the host has taken since the start, as the kernel counts it."""
    fields = (machine.read("proc/stat") or "").partition("\n")[0].split()[1:]
    ticks = [int(field) for field in fields[:8]]
    total = sum(ticks)
    return f"; {ticks[7] / total:.1%} of all time was taken" if len(ticks) == 8 and total > 0 else ""
