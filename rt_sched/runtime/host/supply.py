"""What the kernel keeps from real-time classes on every core, for ordinary processes.

Since Linux 6.12 a deferred server of the fair class may run before SCHED_FIFO, 50 ms of every second unless set
otherwise (kernel/sched/deadline.c, `dl_server`); older kernels throttle real-time classes instead, by default to 950 ms
of every second. Neither does anything in a period in which ordinary processes have had that much anyway.
"""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from rt_sched.units import NS_PER_MS, NS_PER_S

_FAIR_SERVER_SINCE = (6, 12)
_SERVERS = Path("/sys/kernel/debug/sched/fair_server")
_SYSCTL = Path("/proc/sys/kernel")


@dataclass(frozen=True, slots=True)
class SupplyLoss:
    """At most `lost_ns` in every `period_ns` go to others, where they have not had it anyway; `why` in words."""

    lost_ns: int
    period_ns: int
    why: str


def supply_loss() -> SupplyLoss | None:
    """What this host may take from real-time classes on a core; None where it takes nothing."""
    if _kernel_version() >= _FAIR_SERVER_SINCE:
        return _fair_server()
    runtime_us, period_us = _real_time_share()
    if runtime_us is None or period_us is None or runtime_us < 0 or runtime_us >= period_us:
        return None
    lost_us = period_us - runtime_us
    return SupplyLoss(lost_us * 1000, period_us * 1000, "throttling of real-time classes (sched_rt_runtime_us)")


def deadline_share() -> Fraction:
    """The part of a core that the kernel admits reservations of SCHED_DEADLINE for.

    The fair server is a reservation itself (Linux, Documentation/scheduler/sched-deadline.rst, section 4.1).
    """
    runtime_us, period_us = _real_time_share()
    if runtime_us is None or not period_us or runtime_us < 0:
        return Fraction(1)
    server = _fair_server() if _kernel_version() >= _FAIR_SERVER_SINCE else None
    taken = Fraction(0) if server is None else Fraction(server.lost_ns, server.period_ns)
    return max(Fraction(0), Fraction(runtime_us, period_us) - taken)


def _real_time_share() -> tuple[int | None, int | None]:
    return _number(_SYSCTL / "sched_rt_runtime_us"), _number(_SYSCTL / "sched_rt_period_us")


def _fair_server() -> SupplyLoss | None:
    found = [(_number(folder / "runtime"), _number(folder / "period")) for folder in sorted(_folders(_SERVERS))]
    known = [(runtime, period) for runtime, period in found if runtime is not None and period]
    if not known:
        return SupplyLoss(50 * NS_PER_MS, NS_PER_S, "the fair server with its usual share, which cannot be read here")
    runtime_ns, period_ns = max(known, key=lambda one: one[0] / one[1])
    return SupplyLoss(runtime_ns, period_ns, "the fair server") if runtime_ns else None


def _kernel_version() -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _folders(root: Path) -> list[Path]:
    try:
        return [entry for entry in root.iterdir() if entry.is_dir()]
    except OSError:
        return []


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
