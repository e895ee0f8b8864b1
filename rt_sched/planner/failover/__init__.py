"""Failover planning: for every loss a takeover that the analysis accepts, or the constraint that none keeps."""

from rt_sched.planner.failover.plan import FailoverPlan, failover_plan, plan_takeovers
from rt_sched.planner.failover.search import Outcome

__all__ = ["FailoverPlan", "Outcome", "failover_plan", "plan_takeovers"]
