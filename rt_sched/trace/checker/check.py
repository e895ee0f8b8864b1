"""The independent trace checker: re-derives from a trace alone whether it obeys the scheduling semantics.

It is written from the rules, shares no code with the machine that makes schedules, and looks only at the records and
the setup that the trace carries. It does not simulate: every rule is checked on what is recorded.
"""

from __future__ import annotations

from rt_sched.trace.checker.budgets import check_budgets
from rt_sched.trace.checker.changes import check_changes
from rt_sched.trace.checker.criticality import check_criticality
from rt_sched.trace.checker.ends import check_aborts, check_suppressed
from rt_sched.trace.checker.execution import check_execution
from rt_sched.trace.checker.findings import Findings, Rule, TraceCheck
from rt_sched.trace.checker.form import check_form
from rt_sched.trace.checker.history import History
from rt_sched.trace.checker.keys import own_keys
from rt_sched.trace.checker.locks import check_locks
from rt_sched.trace.checker.publishing import check_publishing
from rt_sched.trace.checker.reading import check_reading
from rt_sched.trace.checker.scheduling import check_scheduling
from rt_sched.trace.checker.servers import server_keys
from rt_sched.trace.checker.suspensions import check_suspensions
from rt_sched.trace.checker.times import check_times
from rt_sched.trace.records import Trace


def check_trace(trace: Trace) -> TraceCheck:
    """Every rule on every record. Raises ValueError for a trace without a setup: its rules are not known."""
    if trace.setup is None:
        raise ValueError("the trace carries no setup, so the rules it was made under are not known")
    found = Findings()
    if not check_form(trace, trace.setup, found):
        return found.result((Rule.RECORDS,))
    history = History(trace, trace.setup)
    own = own_keys(history)
    locks = check_locks(history, own, server_keys(history), found)
    check_times(history, locks, found)
    check_execution(history, locks, found)
    check_scheduling(history, own, locks, found)
    check_budgets(history, locks, found)
    check_suspensions(history, found)
    check_changes(history, found)
    check_criticality(history, found)
    check_aborts(history, locks, found)
    check_suppressed(history, locks, found)
    check_reading(history, check_publishing(history, found), found)
    return found.result(tuple(Rule))
