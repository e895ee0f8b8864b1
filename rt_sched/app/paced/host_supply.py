"""What a host may take from real-time classes, as a part of the system that is analysed beside a paced run.

Since Linux 6.12 a server of the fair class may run before SCHED_FIFO, 50 ms of every second unless set otherwise; older
kernels throttle real-time classes instead, by default to 950 ms of every second. To the analysis it is one more task of
each processor, more urgent than all others.
"""

from __future__ import annotations

import dataclasses
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rt_sched.model import ExecutionTime, Placement, Plan, Sporadic, System, Task
from rt_sched.runtime.host.tiers import Tier
from rt_sched.units import NS_PER_MS, NS_PER_S

_FAIR_SERVER_SINCE = (6, 12)
_SERVERS = Path("/sys/kernel/debug/sched/fair_server")
_SYSCTL = Path("/proc/sys/kernel")


@dataclass(frozen=True, slots=True)
class SupplyLoss:
    """At most `lost_ns` in every `period_ns` go to others; `why` in words."""

    lost_ns: int
    period_ns: int
    why: str


def supply_loss(tier: Tier) -> SupplyLoss | None:
    """What this host may take from the tier's classes; None where nothing is taken, or nothing can be promised.

    SCHED_DEADLINE runs before the fair server's default, in a cpuset of its own.
    """
    if tier is not Tier.FIFO:
        return None
    if _kernel_version() >= _FAIR_SERVER_SINCE:
        return _fair_server()
    runtime_us, period_us = (_number(_SYSCTL / f"sched_rt_{part}_us") for part in ("runtime", "period"))
    if runtime_us is None or period_us is None or runtime_us < 0 or runtime_us >= period_us:
        return None
    lost_us = period_us - runtime_us
    return SupplyLoss(lost_us * 1000, period_us * 1000, "throttling of real-time classes (sched_rt_runtime_us)")


def _fair_server() -> SupplyLoss | None:
    found = [(_number(folder / "runtime"), _number(folder / "period")) for folder in sorted(_folders(_SERVERS))]
    known = [(runtime, period) for runtime, period in found if runtime is not None and period]
    if not known:
        return SupplyLoss(50 * NS_PER_MS, NS_PER_S, "the fair server with its usual share, which cannot be read here")
    runtime_ns, period_ns = max(known, key=lambda one: one[0] / one[1])
    return SupplyLoss(runtime_ns, period_ns, "the fair server") if runtime_ns else None


def with_supply_loss(system: System, plan: Plan, loss: SupplyLoss) -> tuple[System, Plan]:
    """System and plan with the loss as a task of each processor, after all others."""
    tasks, placements = [*system.tasks], [*plan.placements]
    for index, processor in enumerate(plan.processors):
        name = f"{processor.name} lent to others"
        tasks.append(
            Task(
                name=name,
                stage="",
                parameters=(),
                pe=(processor.device, processor.pe),
                activation=Sporadic(loss.period_ns),
                inputs=(),
                execution=ExecutionTime(1, loss.lost_ns, (), loss.why),
                deadline_ns=loss.period_ns,
                separation_ns=loss.period_ns,
                core=processor.core,
            )
        )
        placements.append(Placement(name, index, _above_all(plan.placements, index)))
    return (
        dataclasses.replace(system, tasks=tuple(tasks)),
        dataclasses.replace(plan, placements=tuple(placements)),
    )


def _above_all(placements: Sequence[Placement], processor: int) -> int:
    return min((one.level for one in placements if one.processor == processor), default=0) - 1


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
