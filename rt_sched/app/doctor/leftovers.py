"""What killed runs have left behind."""

from __future__ import annotations

from rt_sched.app.doctor.finding import Finding, Machine, Severity
from rt_sched.runtime.host.cgroups import hierarchy_of
from rt_sched.runtime.host.cpuset_groups import owned_groups


def leftover_findings(machine: Machine) -> list[Finding]:
    """Exclusive cpusets of dead processes, and named segments of shared memory."""
    found = [*_cpusets(), *_segments(machine)]
    return found or [Finding("leftovers", "of killed runs", Severity.OK, "none")]


def _cpusets() -> list[Finding]:
    tree = hierarchy_of("cpuset")
    groups = () if tree is None or not tree.is_whole else owned_groups(tree)
    costs = "its cores are kept from other processes"
    return [
        Finding(
            "leftovers",
            "cpuset",
            Severity.WARNING,
            f"{group.path} of process {group.owner}, which is dead",
            costs,
            'sudo python -c "from rt_sched.runtime.host.cpuset import remove_leftovers; remove_leftovers()"',
        )
        for group in groups
        if not group.is_alive
    ]


def _segments(machine: Machine) -> list[Finding]:
    paths = list(machine.glob("dev/shm/rt-sched*"))
    if not paths:
        return []
    sizes = sum(path.stat().st_size for path in paths)
    costs = f"{sizes >> 10} KiB of memory, where no run that still goes on has them"
    mend = "rm /dev/shm/rt-sched*, with no run going on"
    return [Finding("leftovers", "shared memory", Severity.NOTE, f"{len(paths)} segments", costs, mend)]
