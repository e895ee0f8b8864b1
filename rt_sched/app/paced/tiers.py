"""Which tier a paced run gets, and what system the analysis beside it is of."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from rt_sched.errors import DeploymentError
from rt_sched.model import Plan, Policy, System
from rt_sched.runtime.host.tiers import Tier, TierReport, available_tiers


def chosen_tier(wanted: Tier | None) -> tuple[Tier, tuple[TierReport, ...]]:
    """The tier that was asked for, or the best that plans by fixed priorities have here; and what was found of all.

    Raises DeploymentError, with what is missing, where this host does not have the tier that was asked for.
    """
    reports = available_tiers()
    by_tier = {report.tier: report for report in reports}
    if wanted is None:
        return next((tier for tier in (Tier.FIFO, Tier.USER) if by_tier[tier].available), Tier.USER), reports
    if not by_tier[wanted].available:
        raise DeploymentError(
            f"this host does not have the tier {wanted.value}: {'; '.join(by_tier[wanted].reasons)}. "
            f"It has: {', '.join(report.tier.value for report in reports if report.available) or 'none'}"
        )
    return wanted, reports


def system_of_tier(system: System, tier: Tier) -> System:
    """The system as the tier schedules it: `user` never takes a core from a job that runs."""
    if tier is not Tier.USER:
        return system
    devices = tuple(
        dataclasses.replace(
            device,
            processing_elements=tuple(
                dataclasses.replace(element, preemptive=False, points_only=False)
                for element in device.processing_elements
            ),
        )
        for device in system.devices
    )
    return dataclasses.replace(system, devices=devices)


def policy_of_tier(tier: Tier, policy: str | None) -> str | None:
    """The policy of the plan: SCHED_DEADLINE is EDF, whatever the file says."""
    if tier is not Tier.DEADLINE:
        return policy
    if policy not in (None, "edf"):
        raise DeploymentError(f"the tier deadline schedules by deadlines; leave out --policy {policy}")
    return "edf"


def check_plan_of_tier(tier: Tier, plan: Plan) -> None:
    """Raises DeploymentError for a plan that the tier cannot carry out."""
    if tier is Tier.DEADLINE:
        others = [processor.name for processor in plan.processors if processor.policy is not Policy.EDF]
        if others:
            raise DeploymentError(
                f"the tier deadline schedules by deadlines; the plan orders {', '.join(others)} otherwise: --policy edf"
            )


def check_tier_of_failover(tier: Tier) -> None:
    """Raises DeploymentError where tasks cannot move: the reservations of SCHED_DEADLINE stay with their cores."""
    if tier is Tier.DEADLINE:
        raise DeploymentError(
            "the tier deadline does not carry out takeovers; take --tier fifo, or a plan without them"
        )


def tier_rows(reports: Sequence[TierReport]) -> list[dict[str, object]]:
    """What was found of each tier, for documents."""
    return [
        {"tier": report.tier.value, "available": report.available, "reasons": list(report.reasons)}
        for report in reports
    ]
