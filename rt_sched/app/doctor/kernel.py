"""The kernel: version, preemption, shares of real-time classes, clock."""

from __future__ import annotations

import gzip
import re
import zlib

from rt_sched.app.doctor.finding import Finding, Machine, Severity
from rt_sched.runtime.host.cgroups import rt_runtime_us
from rt_sched.runtime.host.cpuset_groups import cpuset_tree, may_take_all
from rt_sched.runtime.host.refusal import Refused
from rt_sched.runtime.host.supply import deadline_share

_AREA = "kernel"
#: Since this version a server of the fair class takes the place of throttling (commit 557a6bfc662c).
_FAIR_SERVER = (6, 12)
_FAST_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")
_MOUNT_DEBUGFS = "sudo mount -t debugfs none /sys/kernel/debug"


def kernel_findings(machine: Machine) -> list[Finding]:
    """Version, preemption model, throttling, fair server, control groups and clock source."""
    release = machine.read("proc/sys/kernel/osrelease") or "unknown"
    version = _version(release)
    return [
        Finding(_AREA, "version", Severity.OK if version >= (5, 14) else Severity.WARNING, release, *_of_age(version)),
        _preemption(machine, release),
        _throttling(machine, version),
        *_fair_server(machine, version),
        *_group_share(),
        _cpusets(),
        *_clock(machine),
    ]


def _version(release: str) -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", release)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _of_age(version: tuple[int, int]) -> tuple[str, ...]:
    if version >= (5, 14):
        return ()
    return ("no timeouts on mutexes with inheritance", "Linux 5.14 or newer")


def _preemption(machine: Machine, release: str) -> Finding:
    model, source = preemption_model(machine, release)
    if model == "rt":
        return Finding(_AREA, "preemption", Severity.OK, f"PREEMPT_RT ({source})")
    if model in ("full", "lazy"):
        costs = "wake-ups wait for interrupts and spinlocks: tens of microseconds, seldom more"
        return Finding(_AREA, "preemption", Severity.NOTE, f"{model} ({source})", costs, "a kernel with PREEMPT_RT")
    costs = "system calls of other processes are not preempted: wake-ups come up to milliseconds late"
    if model is None:
        return Finding(_AREA, "preemption", Severity.NOTE, "cannot be found out", "", _MOUNT_DEBUGFS)
    mend = "boot with preempt=full"
    if "PREEMPT_DYNAMIC" in (machine.read("proc/version") or ""):
        mend = f"{_MOUNT_DEBUGFS}; echo full | sudo tee /sys/kernel/debug/sched/preempt; or boot with preempt=full"
    return Finding(_AREA, "preemption", Severity.WARNING, f"{model} ({source})", costs, mend)


def preemption_model(machine: Machine, release: str) -> tuple[str | None, str]:
    """rt, full, lazy, voluntary or none, and what says so; None where nothing does."""
    if machine.read("sys/kernel/realtime") == "1":
        return "rt", "/sys/kernel/realtime"
    chosen = re.search(r"\((\w+)\)", machine.read("sys/kernel/debug/sched/preempt") or "")
    if chosen:
        return chosen[1], "/sys/kernel/debug/sched/preempt"
    given = re.search(r"\bpreempt=(\w+)", machine.read("proc/cmdline") or "")
    if given:
        return given[1], "preempt= of the boot command"
    config = _configuration(machine, release)
    if config is not None:
        kinds = {"PREEMPT_RT": "rt", "PREEMPT_LAZY": "lazy", "PREEMPT": "full"}
        kinds |= {"PREEMPT_VOLUNTARY": "voluntary", "PREEMPT_NONE": "none"}
        for option, model in kinds.items():
            if f"\nCONFIG_{option}=y\n" in config:
                return model, f"CONFIG_{option}"
    words = (machine.read("proc/version") or "").split()
    if "PREEMPT_RT" in words:
        return "rt", "/proc/version"
    return ("full", "/proc/version") if "PREEMPT" in words else (None, "")


def _configuration(machine: Machine, release: str) -> str | None:
    """The options that the kernel was built with, each in a line of its own between line ends."""
    try:
        return "\n" + gzip.decompress((machine.root / "proc/config.gz").read_bytes()).decode("utf-8", "replace")
    except (OSError, EOFError, zlib.error):
        text = machine.read(f"boot/config-{release}")
        return None if text is None else f"\n{text}\n"


def _throttling(machine: Machine, version: tuple[int, int]) -> Finding:
    runtime, period = (machine.number(f"proc/sys/kernel/sched_rt_{part}_us") for part in ("runtime", "period"))
    if runtime is None or period is None:
        return Finding(_AREA, "real-time share", Severity.NOTE, "cannot be read")
    if runtime == -1 or runtime >= period:
        costs = "a runaway of a real-time class can hold a core for ever"
        mend = "sudo sysctl -w kernel.sched_rt_runtime_us=950000"
        return Finding(_AREA, "real-time share", Severity.NOTE, "not limited", costs, mend)
    share = f"{runtime} of every {period} us"
    if runtime == 0:
        mend = "sudo sysctl -w kernel.sched_rt_runtime_us=950000"
        return Finding(_AREA, "real-time share", Severity.PROBLEM, share, "no real-time class can be used", mend)
    if version >= _FAIR_SERVER:
        costs = "SCHED_DEADLINE reservations together stay below it on every core"
    else:
        costs = f"jobs of a core that is busier wait for up to {period - runtime} us"
    return Finding(_AREA, "real-time share", Severity.OK, share, costs)


def _fair_server(machine: Machine, version: tuple[int, int]) -> list[Finding]:
    if version < _FAIR_SERVER:
        return []
    servers = {}
    for folder in machine.glob("sys/kernel/debug/sched/fair_server/cpu*"):
        place = str(folder.relative_to(machine.root))
        servers[folder.name] = (machine.number(f"{place}/runtime"), machine.number(f"{place}/period"))
    told = sorted({f"{runtime} of every {period} ns" for runtime, period in servers.values() if runtime and period})
    if servers and not told:
        return [Finding(_AREA, "fair server", Severity.OK, "switched off on every core")]
    costs = "a core that real-time classes fill for longer is lent to ordinary processes that starve: jobs wait"
    if not servers:
        found = "there, with settings that cannot be read; usual are 50 ms of every 1 s"
        return [Finding(_AREA, "fair server", Severity.NOTE, found, costs, _MOUNT_DEBUGFS)]
    return [Finding(_AREA, "fair server", Severity.NOTE, ", ".join(told), costs, "keep every core below 95 %")]


def _group_share() -> list[Finding]:
    """Read of this process itself, wherever the other files come from."""
    share = rt_runtime_us()
    if share is None:
        return [Finding(_AREA, "real-time control group", Severity.OK, "no group limits real-time classes")]
    group, runtime = share
    if runtime == 0:
        costs, mend = "SCHED_FIFO is refused in it", f"echo 500000 | sudo tee {group}/cpu.rt_runtime_us"
        return [Finding(_AREA, "real-time control group", Severity.PROBLEM, f"{group}: no share", costs, mend)]
    return [Finding(_AREA, "real-time control group", Severity.OK, f"{group}: {runtime} us of every period")]


def _cpusets() -> Finding:
    """Of this process itself as well."""
    try:
        tree = cpuset_tree()
    except Refused as refusal:
        return Finding(_AREA, "exclusive cpusets", Severity.NOTE, refusal.lacking, "no tier deadline", refusal.mend)
    cores = "every core" if may_take_all(tree) else "all cores but one"
    found = f"control groups of version {tree.version} at {tree.mount}: {cores}, {float(deadline_share()):.3g} of each"
    return Finding(_AREA, "exclusive cpusets", Severity.OK, found)


def _clock(machine: Machine) -> list[Finding]:
    place = "sys/devices/system/clocksource/clocksource0"
    current = machine.read(f"{place}/current_clocksource")
    if current is None:
        return []
    if current in _FAST_CLOCKS:
        return [Finding(_AREA, "clock source", Severity.OK, current)]
    better = [name for name in (machine.read(f"{place}/available_clocksource") or "").split() if name in _FAST_CLOCKS]
    mend = f"echo {better[0]} | sudo tee /{place}/current_clocksource" if better else ""
    return [
        Finding(_AREA, "clock source", Severity.WARNING, current, "every look at the clock costs a microsecond", mend)
    ]
