"""Checks any trace against the scheduling semantics, without the scheduling machine."""

from rt_sched.trace.checker.check import check_trace
from rt_sched.trace.checker.findings import LISTED_PER_RULE, Rule, TraceCheck, Violation

__all__ = ["LISTED_PER_RULE", "Rule", "TraceCheck", "Violation", "check_trace"]
