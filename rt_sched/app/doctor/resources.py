"""Room in shared memory, swap, and buffers of sockets."""

from __future__ import annotations

import os

from rt_sched.app.doctor.finding import Finding, Machine, Severity

#: A 1080p frame of three bytes a pixel: the largest message that systems here commonly have.
_FRAME_BYTES = 1920 * 1080 * 3
#: Eight cameras with four slots each.
_RINGS_BYTES = 8 * 4 * _FRAME_BYTES
_BUFFERS = ("rmem_max", "wmem_max")


def resource_findings(machine: Machine) -> list[Finding]:
    """Shared memory, swap space, and the largest buffers that sockets may have."""
    return [*_shared_memory(machine), *_swap(machine), *_sockets(machine)]


def _shared_memory(machine: Machine) -> list[Finding]:
    try:
        found = os.statvfs(machine.root / "dev/shm")
    except OSError:
        costs, mend = "named segments of shared memory cannot be made", "sudo mount -t tmpfs tmpfs /dev/shm"
        return [Finding("memory", "shared memory", Severity.WARNING, "missing", costs, mend)]
    free = found.f_bavail * found.f_frsize
    told = f"{free >> 20} MiB free of {found.f_blocks * found.f_frsize >> 20} MiB"
    if free >= _RINGS_BYTES:
        return [Finding("memory", "shared memory", Severity.OK, told)]
    costs = f"eight cameras at 1080p with four slots each need {_RINGS_BYTES >> 20} MiB"
    mend = "sudo mount -o remount,size=1G /dev/shm, or docker run --shm-size 1g"
    return [Finding("memory", "shared memory", Severity.WARNING, told, costs, mend)]


def _swap(machine: Machine) -> list[Finding]:
    lines = (machine.read("proc/swaps") or "").splitlines()[1:]
    if not lines:
        return [Finding("memory", "swap", Severity.OK, "none")]
    costs = "pages that are not locked may have to come back from a disk"
    return [Finding("memory", "swap", Severity.NOTE, f"{len(lines)} in use", costs, "sudo swapoff -a")]


def _sockets(machine: Machine) -> list[Finding]:
    sizes = {name: machine.number(f"proc/sys/net/core/{name}") for name in _BUFFERS}
    small = {name: size for name, size in sizes.items() if size is not None and size < _FRAME_BYTES}
    told = ", ".join(f"{name} {size}" for name, size in sizes.items() if size is not None)
    if not told:
        return []
    if not small:
        return [Finding("network", "socket buffers", Severity.OK, told)]
    costs = f"frames of {_FRAME_BYTES} bytes over DDS do not fit, and are lost in part"
    mend = "sudo sysctl -w " + " ".join(f"net.core.{name}={4 * _FRAME_BYTES}" for name in small)
    return [Finding("network", "socket buffers", Severity.WARNING, told, costs, mend)]
