"""System -> Plan. Placement on cores and priorities; the analysis, not the planner, decides whether a plan is good."""

from rt_sched.planner.plan import POLICIES, make_plan

__all__ = ["POLICIES", "make_plan"]
