"""The loss of the arbiter itself: within what time the actuators' side brakes by itself, from declared parameters.

Whatever becomes of the arbiter, its process or its device, its last command was sent no later than the loss. The
actuators' side looks once in a cycle, and goes to MINIMAL_RISK at the first look at which that command is older than
the limit: within the limit and one cycle of the loss. It must not do so while the arbiter is well: two commands are
sent at most one distance of its jobs and the bound of a response apart, which the limit has to cover.
"""

from __future__ import annotations

from typing import Any

from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.result import AnalysisReport, Verdict
from rt_sched.app.runs.actuator import actuator_policy
from rt_sched.model import Plan, System
from rt_sched.units import NS_PER_S, ceil_int, format_ns

Row = dict[str, Any]


def arbiter_loss(system: System, plan: Plan, report: AnalysisReport) -> Row | None:
    """None without an arbiter. `bound_ns`: from the loss to MINIMAL_RISK; its terms add up to it.

    `commands_apart_ns`: the longest distance of two commands in any mode, None where nothing bounds it. `limit_ns`: the
    recovery limit of the safety concept.
    """
    policy = actuator_policy(system)
    if policy is None or system.safety is None:
        return None
    name, limit_ns = system.safety.arbiter, system.safety.recovery_limit_ns
    margin_ns = None if limit_ns is None else limit_ns - policy.bound_ns
    apart_ns, reason = _commands_apart_ns(system, plan, report, name)
    if apart_ns is not None and apart_ns > policy.command_age_limit_ns:
        reason = (
            f"while the arbiter is well its commands are up to {format_ns(apart_ns)} apart, and the actuators' side "
            f"takes it for lost after {format_ns(policy.command_age_limit_ns)}"
        )
    elif margin_ns is not None and margin_ns < 0:
        reason = f"the bound exceeds the recovery limit by {format_ns(-margin_ns)}"
    return {
        "task": name,
        "commands_apart_ns": apart_ns,
        "command_age_limit_ns": policy.command_age_limit_ns,
        "cycle_ns": policy.cycle_ns,
        "bound_ns": policy.bound_ns,
        "terms": [
            {"kind": "command_age_limit", "by": name, "value_ns": policy.command_age_limit_ns},
            {"kind": "cycle", "by": "actuators", "value_ns": policy.cycle_ns},
        ],
        "limit_ns": limit_ns,
        "margin_ns": margin_ns,
        "verdict": (Verdict.INCONCLUSIVE if reason else Verdict.SCHEDULABLE).value,
        "reason": reason,
    }


def _commands_apart_ns(system: System, plan: Plan, report: AnalysisReport, name: str) -> tuple[int | None, str]:
    """Over all modes, and why it is not known."""
    index = next(place for place, task in enumerate(system.tasks) if task.name == name)
    longest_ns = 0
    for load, found in zip(mode_loads(system, plan), report.modes, strict=True):
        if not load.active[index]:
            continue
        row = load.setup.tasks[index]
        if row.rate_hz is None:
            return None, f"nothing says how far apart the jobs of {name} may be"
        bound = next((one.bound for one in found.tasks if one.task == name), None)
        if bound is None:
            return None, f"the response of {name} has no bound"
        longest_ns = max(longest_ns, ceil_int(NS_PER_S / row.rate_hz) + row.extra_separation_ns + bound.value_ns)
    return (longest_ns, "") if longest_ns else (None, f"{name} is at work in no mode")
