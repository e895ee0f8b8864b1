"""Why the kernel refuses a scheduling class: the same EPERM stands for five different things."""

from __future__ import annotations

import errno
from pathlib import Path

from rt_sched.runtime.host.affinity import allowed_cores
from rt_sched.runtime.host.cgroups import rt_runtime_us
from rt_sched.runtime.host.privileges import capabilities, in_first_user_namespace, is_filtered, rtprio_limit
from rt_sched.runtime.host.refusal import Refused
from rt_sched.runtime.host.scheduling_class import Scheduling, SchedulingClass

_SYSCTL = Path("/proc/sys/kernel")

#: How a user gets real-time priorities, after a new login.
MEND_RTPRIO = 'echo "$USER - rtprio 99" | sudo tee /etc/security/limits.d/rt-sched-rtprio.conf; log in again'
MEND_ROOT = "run as root, or give the process CAP_SYS_NICE"


def why_refused(wanted: Scheduling, tid: int, error: OSError) -> Refused:
    """What is missing for `wanted`, as far as it can be found out from here."""
    what = f"{wanted} for thread {tid}" if tid else str(wanted)
    if error.errno == errno.ENOSYS:
        return Refused(what, f"this kernel does not have sched_setattr ({error.strerror})")
    if error.errno == errno.EBUSY:
        return Refused(
            what,
            "the reservations already admitted on these cores leave too little",
            "shorten the runtime, lengthen the period, or end other SCHED_DEADLINE tasks",
        )
    if error.errno == errno.EINVAL and wanted.scheduling_class is SchedulingClass.DEADLINE:
        return Refused(what, _period_limits())
    if error.errno != errno.EPERM:
        return Refused(what, error.strerror or str(error))
    if wanted.scheduling_class is SchedulingClass.DEADLINE:
        return _deadline_refused(what, tid)
    if wanted.scheduling_class.is_real_time:
        return _fixed_priority_refused(what, wanted.priority)
    return Refused(what, "it needs CAP_SYS_NICE, or the thread belongs to another user", MEND_ROOT)


def _fixed_priority_refused(what: str, priority: int) -> Refused:
    limit, share = rtprio_limit(), rt_runtime_us()
    if "CAP_SYS_NICE" not in capabilities() and limit < priority:
        return Refused(what, f"no CAP_SYS_NICE, and RLIMIT_RTPRIO is {limit}", MEND_RTPRIO)
    if share is not None and share[1] == 0:
        lacking = f"the control group {share[0]} has no real-time share (RT_GROUP_SCHED, cpu.rt_runtime_us is 0)"
        return Refused(what, lacking, f"echo 500000 | sudo tee {share[0]}/cpu.rt_runtime_us")
    return _confined(what)


def _deadline_refused(what: str, tid: int) -> Refused:
    if "CAP_SYS_NICE" not in capabilities():
        return Refused(what, "no CAP_SYS_NICE; RLIMIT_RTPRIO does not do for this class", MEND_ROOT)
    if (_SYSCTL / "sched_rt_runtime_us").read_text(encoding="utf-8").strip() == "0":
        return Refused(
            what, "real-time classes have no share at all", "sudo sysctl -w kernel.sched_rt_runtime_us=950000"
        )
    if not in_first_user_namespace() or is_filtered():
        return _confined(what)
    cores = ", ".join(str(core) for core in sorted(allowed_cores(tid)))
    return Refused(
        what,
        f"its cores ({cores}) are fewer than those the kernel balances together",
        "put it into an exclusive cpuset of these cores (rt_sched.runtime.host.cpuset)",
    )


def _confined(what: str) -> Refused:
    if not in_first_user_namespace():
        return Refused(
            what,
            "capabilities of a user namespace do not count for it",
            "run outside of the container without privileges",
        )
    if is_filtered():
        return Refused(
            what, "a seccomp filter refuses the call", "docker run --cap-add SYS_NICE --ulimit rtprio=99 ..."
        )
    return Refused(what, "the thread belongs to another user, or a security module refuses it")


def _period_limits() -> str:
    limits = []
    for name in ("min", "max"):
        path = _SYSCTL / f"sched_deadline_period_{name}_us"
        limits.append(f"{path.read_text(encoding='ascii').strip()} us" if path.exists() else "?")
    return f"the kernel takes periods from {limits[0]} to {limits[1]} (kernel.sched_deadline_period_min_us, _max_us)"
