"""Plans that come from files, checked against their system before anything uses them."""

from __future__ import annotations

from pathlib import Path

from rt_sched.config.plan_file import load_plan_file
from rt_sched.errors import ConfigError, Problem
from rt_sched.lowering import check_plan
from rt_sched.lowering.merging import merged_if_possible
from rt_sched.model import Plan, System
from rt_sched.planner import POLICIES, make_plan


def policy_problems(policy: str | None, file: Path | None) -> list[Problem]:
    """What is wrong with `--policy`, where it is given, beside the plan from `file`."""
    if policy is None:
        return []
    if file is not None:
        return [Problem("--policy", 0, 0, policy, "a plan from a file has its own policy; leave one out")]
    return [] if policy in POLICIES else [Problem("--policy", 0, 0, policy, f"valid: {', '.join(POLICIES)}")]


def plan_for(system: System, file: Path | None, policy: str | None) -> tuple[Plan, str | None]:
    """The plan in `file`, else the one that `make_plan` makes under `policy`; and a note where the file is out of date.

    A plan that merges tasks is for the system of `with_merged`, which is what all else has to go on with.

    Raises ConfigError with every problem of the file, and with every reason of `check_plan` why the plan does not fit.
    """
    problems = policy_problems(policy, file)
    if problems:
        raise ConfigError(problems)
    if file is None:
        plan = make_plan(system, policy)
        reasons = check_plan(system, plan)
        if reasons:
            raise ConfigError([Problem("plan", 0, 0, "", reason) for reason in reasons])
        return plan, None
    read = load_plan_file(file, system, merged_if_possible)
    reasons = check_plan(read.system, read.plan)
    if reasons:
        raise read.refusal(reasons)
    note = (
        f"{file} was made for another state of {system.name}; it fits, and is judged anew"
        if read.made_for_another
        else None
    )
    return read.plan, note
